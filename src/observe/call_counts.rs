//! Counts the calls of the C++ entry points, to show that Caffe's calls arrive in this library.
//!
//! If `SYNCEDMEM_CALLS` names a file or `stderr`, one line is appended to it when the process exits.
#![expect(unsafe_code, reason = "a function that runs at exit, and the program's name")]

use std::ffi::CStr;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use syncedmem_trace::text::Text;

use crate::observe::control;
use crate::platform::text::{append_to, to_stderr};
use crate::settings;
use crate::state::flags::{self, CALLS};

#[derive(Clone, Copy, Debug)]
pub enum Call {
    Construct,
    Destroy,
    CpuData,
    MutableCpuData,
    GpuData,
    MutableGpuData,
    SetCpuData,
    SetGpuData,
    AsyncGpuPush,
    Resize,
    MallocHost,
    FreeHost,
    CheckDevice,
}

const NAMES: [&str; Call::COUNT] = [
    "construct",
    "destroy",
    "cpu_data",
    "mutable_cpu_data",
    "gpu_data",
    "mutable_gpu_data",
    "set_cpu_data",
    "set_gpu_data",
    "async_gpu_push",
    "resize",
    "malloc_host",
    "free_host",
    "check_device",
];

impl Call {
    pub const COUNT: usize = Call::CheckDevice as usize + 1;

    pub const fn name(self) -> &'static str {
        NAMES[self as usize]
    }
}

static COUNTS: [AtomicU64; NAMES.len()] = [const { AtomicU64::new(0) }; NAMES.len()];

#[inline(always)]
pub fn count(call: Call) {
    if !flags::off() {
        count_if_on(call);
    }
}

#[cold]
#[inline(never)]
fn count_if_on(call: Call) {
    control::read_settings();
    if flags::has(CALLS) {
        COUNTS[call as usize].fetch_add(1, Ordering::Relaxed);
    }
}

/// For a forked child, which counts its own calls.
pub fn forget() {
    COUNTS.iter().for_each(|count| count.store(0, Ordering::Relaxed));
}

fn destination() -> Option<&'static CStr> {
    settings::environment(c"SYNCEDMEM_CALLS")
}

/// Runs after `main` and the destructors of the program's own static objects. Objects that other libraries destroy
/// later are not counted.
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = report;

extern "C" fn report() {
    if !flags::has(CALLS) {
        return;
    }
    let mut line =
        Text::<1024>::of(format_args!("syncedmem_calls pid={} program={}", std::process::id(), program().as_ref()));
    for (name, count) in NAMES.iter().zip(&COUNTS) {
        let _ = write!(line, " {name}={}", count.load(Ordering::Relaxed));
    }
    let _ = line.write_char('\n');
    match destination() {
        Some(file) => append_to(file, "SYNCEDMEM_CALLS", "the counts follow", line.as_bytes()),
        None => to_stderr(line.as_bytes()),
    }
}

pub fn program() -> Text<256> {
    unsafe extern "C" {
        /// Of the GNU C library: the last component of `argv[0]`.
        static program_invocation_short_name: *const std::ffi::c_char;
    }
    // SAFETY: the C library sets it before the process's first instruction, and this crate never writes it.
    let name = unsafe { program_invocation_short_name };
    // SAFETY: the C library says that it is NUL-terminated.
    let name = unsafe { CStr::from_ptr(name) }.to_str().unwrap_or_default();
    let mut text = Text::new();
    // Spaces separate the fields of the line; control characters could steer a terminal.
    for part in name.chars().map(|c| if c.is_whitespace() || c.is_control() { '_' } else { c }) {
        let _ = text.write_char(part);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_has_its_name() {
        assert_eq!(Call::Construct.name(), "construct");
        assert_eq!(Call::AsyncGpuPush.name(), "async_gpu_push");
        assert_eq!(Call::FreeHost.name(), "free_host");
    }
}
