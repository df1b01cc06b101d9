//! Turns observation on and off: by the settings when the library is first used, and by the C API.

#![expect(unsafe_code, reason = "a function that runs at exit")]

use std::ffi::CStr;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use syncedmem_core::settings as table;
use syncedmem_core::text::{Escaped, Text};

use super::trace::{self, FileError};
use super::{nvtx, recorder, report_file};
use crate::platform::sync::{nap, this_thread};
use crate::platform::text::to_stderr;
use crate::settings;
use crate::state::fast_path;
use crate::state::flags::{self, ACCOUNT, Flags, RANGES, TRACE};

/// The thread that is reading the settings, or 0.
static READER: AtomicUsize = AtomicUsize::new(0);

/// Reads the settings at the first call. May open the trace, so the caller holds no lock.
#[inline]
pub fn read_settings() {
    if flags::are_unread() {
        read_once();
    }
}

#[cold]
fn read_once() {
    while let Err(reader) = READER.compare_exchange(0, this_thread(), Acquire, Relaxed) {
        // A signal handler that has interrupted the reader records nothing yet.
        if reader == this_thread() || !flags::are_unread() {
            return;
        }
        nap();
    }
    if flags::are_unread() {
        read();
    }
    READER.store(0, Release);
}

fn read() {
    let is_counting = report_file::begin() | (settings::ACCOUNT.get() > 0);
    let flags = Flags::NONE.and(ACCOUNT, is_counting).and(RANGES, nvtx::attach());
    // The trace opens before its flag is set: events are written from then on.
    let is_traced = settings::given(&table::TRACE)
        .is_some_and(|file| recorder::open_trace(file).inspect_err(|trouble| complain(file, *trouble)).is_ok());
    flags::begin(flags.and(TRACE, is_traced));
}

/// Forgets the thread that was reading the settings: a forked child does not have it.
pub fn after_fork_in_child() {
    READER.store(0, Relaxed);
}

#[cold]
fn complain(file: &CStr, trouble: FileError) {
    let file = Escaped(file.to_bytes());
    to_stderr(Text::<600>::of(format_args!("libsyncedmem: SYNCEDMEM_TRACE={file}: {trouble}\n")).as_bytes());
}

/// Runs after `main` and the destructors of the program's static objects.
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = at_exit;

extern "C" fn at_exit() {
    // A panic is a bug here: the process must still reach its end.
    let _ = std::panic::catch_unwind(|| {
        // The calls of such a Caffe have not begun the recording. It begins here and says why it is empty.
        if flags::are_unread() && settings::given(&table::TRACE).is_some() && trace::is_any_caffe_bound() {
            read_settings();
        }
        trace::conclude();
    });
}

pub fn set(flag: Flags, wanted: bool) {
    read_settings();
    flags::set(flag, wanted);
    // The next call of each entry point reads the flags again.
    fast_path::close();
}

pub fn begin_trace(file: &CStr) -> Result<(), FileError> {
    read_settings();
    let begun = recorder::open_trace(file);
    // If another thread is starting a trace, that thread sets the flag. Otherwise the earlier trace has ended.
    if begun != Err(FileError::Busy) {
        set(TRACE, begun.is_ok());
    }
    begun
}

pub fn end_trace() {
    set(TRACE, false);
    trace::stop();
}
