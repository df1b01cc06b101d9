//! Whether the process exits, was forked, or captures CUDA graphs.
#![expect(unsafe_code, reason = "atexit")]

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::{FOUND, status};
use crate::error::{DriverFailure, WhyNot};
use crate::platform::text::warn;

static SEARCHED: AtomicBool = AtomicBool::new(false);
/// The process was forked from one that had found the driver, or was looking for it.
static FORKED: AtomicBool = AtomicBool::new(false);
static EXITING: AtomicBool = AtomicBool::new(false);
static CAPTURES: AtomicBool = AtomicBool::new(false);

pub fn usable() -> Result<(), WhyNot> {
    if FORKED.load(Relaxed) {
        return Err(WhyNot::Forked);
    }
    if EXITING.load(Relaxed) { Err(WhyNot::Exiting) } else { Ok(()) }
}

pub fn begin_search() {
    SEARCHED.store(true, Relaxed);
}

/// Called once the driver runs: exit handlers run in the reverse order of registration, and this one must run before the
/// driver's.
pub fn watch_exit() {
    // SAFETY: the handler stays mapped (-z nodelete).
    unsafe { libc::atexit(begin_exit) };
}

/// The library also calls it when the driver reports that it has ended.
pub extern "C" fn begin_exit() {
    EXITING.store(true, Relaxed);
}

pub fn begin_child() {
    FORKED.store(is_lost_in_child(), Relaxed);
}

/// Whether a forked child has lost the driver, or another thread's search for it, which never ends there. A search that
/// found no driver stays valid in the child.
pub fn is_lost_in_child() -> bool {
    let found_nothing = matches!(FOUND.get(), Some(Err(_)));
    FORKED.load(Relaxed) || (SEARCHED.load(Relaxed) && !found_nothing)
}

pub fn captures_graphs() -> bool {
    // Relaxed: a hint of what other threads may be capturing.
    CAPTURES.load(Relaxed)
}

/// Returns whether a capture was known before.
pub fn note_capture() -> bool {
    CAPTURES.swap(true, Relaxed)
}

/// Notes the capture that caused the failure. Warns of the first one that a wait of the library invalidated.
#[cold]
pub fn note_failure(failure: DriverFailure) {
    if !status::is_capture_error(failure.status) || note_capture() || failure.call != "cuCtxSynchronize" {
        return;
    }
    warn(format_args!(
        "a CUDA graph was being captured when the library wanted to reuse or free idle blocks, and its wait for \
         their context has invalidated the capture; from now on it waits for no context and keeps no blocks"
    ));
}
