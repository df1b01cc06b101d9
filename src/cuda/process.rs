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

/// Called once the driver runs: exit handlers run in reverse order, and this one must precede the driver's.
pub fn watch_exit() {
    // SAFETY: the handler stays mapped (-z nodelete).
    unsafe { libc::atexit(begin_exit) };
}

/// Also called when the driver reports that it has ended.
pub extern "C" fn begin_exit() {
    EXITING.store(true, Relaxed);
}

pub fn begin_child() {
    FORKED.store(is_lost_in_child(), Relaxed);
}

/// Whether a forked child has lost the driver, or another thread's search for it, which never ends. A search that found no
/// driver is valid in the child.
pub fn is_lost_in_child() -> bool {
    let found_nothing = matches!(FOUND.get(), Some(Err(_)));
    FORKED.load(Relaxed) || (SEARCHED.load(Relaxed) && !found_nothing)
}

pub fn captures_graphs() -> bool {
    // Relaxed: a hint of what other threads may be doing.
    CAPTURES.load(Relaxed)
}

/// Returns whether that was known before.
pub fn note_capture() -> bool {
    CAPTURES.swap(true, Relaxed)
}

/// Notes a capture by the failure it caused. Warns of the first, if a wait of the library invalidated it.
#[cold]
pub fn note_failure(failure: DriverFailure) {
    if !status::is_capture_error(failure.status) || note_capture() || failure.call != "cuCtxSynchronize" {
        return;
    }
    warn(format_args!(
        "a CUDA graph was being captured when idle blocks were to be handed out again or given back, and the wait \
         for their context has invalidated the capture; from now on no context is waited for, and blocks are not kept"
    ));
}
