//! Notes on the process in its recording: command line, machine, limits and settings at the beginning; the Caffes in it, and
//! whether their calls can reach this library.

use std::ffi::CStr;
use std::ops::ControlFlow;

use syncedmem_core::text::Text;
use syncedmem_trace::recording::text::Topic;

use super::mapping::Recording;
use crate::platform::{limits, loaded};
use crate::settings;
use crate::takeover;

pub fn process(recording: Recording) {
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
        // This setting names the recording itself.
        if !setting.to_bytes().starts_with(b"SYNCEDMEM_TRACE=") {
            recording.text(Topic::Setting, 0, beginning(recording, setting.to_bytes()));
        }
    });
}

// It is not inlined, so that the buffer is not on the stack while control groups are read.
#[inline(never)]
fn note_command(recording: Recording) {
    let mut buffer = [0; 4096];
    let command = limits::read_bytes(c"/proc/self/cmdline", &mut buffer).unwrap_or_default();
    recording.text(Topic::Command, 0, beginning(recording, command));
}

/// The beginning of a text: at most an eighth of the text area.
fn beginning(recording: Recording, text: &[u8]) -> &[u8] {
    &text[..text.len().min(recording.bytes_of_texts() as usize / 8)]
}

/// Functions of `SyncedMemory` that every Caffe has, and calls.
static MEMORY: [&CStr; 2] = [c"_ZN5caffe12SyncedMemory8cpu_dataEv", c"_ZN5caffe12SyncedMemory16mutable_cpu_dataEv"];
/// `caffe::Caffe::Get()`: a Caffe that is built without its `SyncedMemory` has this function.
const GET: &CStr = c"_ZN5caffe5Caffe3GetEv";

/// The name of the file, and the number of its `Topic::Caffe`.
type Found = (Text<400>, u64);

/// The linker has bound the file's calls within the file.
const BOUND: u64 = 0;
const REACHES: u64 = 1;

/// Number of Caffes in one process that get a note.
const MOST: usize = 4;

/// Visits the Caffes in the process.
// It is not inlined, so that the buffers are not on the stack of the callers.
#[inline(never)]
pub fn each_caffe(mut visit: impl FnMut(&[u8], u64)) {
    let (mut found, mut count) = ([const { None::<Found> }; MOST], 0);
    loaded::each(|object| {
        let Some(symbols) = object.symbols() else { return ControlFlow::Continue(()) };
        let both = |count: takeover::Count| count.memory as u64 | (count.names as u64) << 32;
        let taken = takeover::functions(object.base()).map(both);
        let is_caffe = || MEMORY.iter().chain([&GET]).any(|name| symbols.find(name).is_some());
        // This library and the program, whose name is empty here, are left out.
        let is_other = object.name().is_empty() || object.contains(MEMORY.as_ptr().addr());
        if taken.is_none() && (is_other || !is_caffe()) {
            return ControlFlow::Continue(());
        }
        let is_referred_to = || MEMORY.iter().any(|name| symbols.references(name).next().is_some());
        let how = taken.unwrap_or_else(|| if is_referred_to() { REACHES } else { BOUND });
        found[count] = Some((takeover::path(object), how));
        count += 1;
        if count == MOST { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    for (path, how) in found.iter().flatten() {
        visit(with_version(path).as_bytes(), *how);
    }
}

/// Whether the calls of some Caffe in the process cannot reach this library.
pub fn is_any_caffe_bound() -> bool {
    let mut is_any = false;
    each_caffe(|_, how| is_any |= how == BOUND);
    is_any
}

/// Follows a link in the same folder: the target of `libcaffe.so.1` has the version in its name.
fn with_version(path: &Text<400>) -> Text<400> {
    let mut buffer = [0; 256];
    let target = std::str::from_utf8(limits::target(path.as_c_str(), &mut buffer)).unwrap_or_default();
    match path.as_ref().rsplit_once('/') {
        Some((folder, _)) if !target.is_empty() && !target.contains('/') => Text::of(format_args!("{folder}/{target}")),
        _ => Text::of(format_args!("{path}")),
    }
}
