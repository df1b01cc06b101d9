//! Notes on the process, at the beginning of its recording: command line, machine, limits, settings.

use syncedmem_trace::recording::text::Topic;

use super::mapping::Recording;
use crate::platform::limits;
use crate::settings;

pub fn note(recording: Recording) {
    note_command(recording);
    if let Some(host) = limits::read(c"/proc/sys/kernel/hostname", &mut [0; 65]) {
        recording.text(Topic::Host, 0, host.trim().as_bytes());
    }
    let bounds = [
        ("address space", limits::of(libc::RLIMIT_AS)),
        ("data", limits::of(libc::RLIMIT_DATA)),
        ("control group", limits::cgroup().map(std::num::NonZero::get)),
        ("machine", limits::memory("MemTotal:")),
    ];
    for (name, bytes) in bounds {
        if let Some(bytes) = bytes {
            recording.text(Topic::Limit, bytes, name.as_bytes());
        }
    }
    settings::each_given(|setting| {
        // It is the recording itself.
        if !setting.to_bytes().starts_with(b"SYNCEDMEM_TRACE=") {
            recording.text(Topic::Setting, 0, beginning(recording, setting.to_bytes()));
        }
    });
}

// Not inlined: its buffer is off the stack when control groups are read.
#[inline(never)]
fn note_command(recording: Recording) {
    let mut buffer = [0; 4096];
    let command = limits::read_bytes(c"/proc/self/cmdline", &mut buffer).unwrap_or_default();
    recording.text(Topic::Command, 0, beginning(recording, command));
}

/// An eighth of the text area at most.
fn beginning(recording: Recording, text: &[u8]) -> &[u8] {
    &text[..text.len().min(recording.bytes_of_texts() as usize / 8)]
}
