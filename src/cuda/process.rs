//! What the process does beside the library: it exits, it was forked, it captures CUDA graphs.
#![expect(unsafe_code, reason = "atexit")]

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::{FOUND, status};
use crate::error::{DriverFailure, WhyNot};
use crate::platform::text::warn;

/// Whether the driver was looked for.
static SEARCHED: AtomicBool = AtomicBool::new(false);
/// Whether this process was forked from one that had found the driver, or was looking for it.
static FORKED: AtomicBool = AtomicBool::new(false);
/// Whether the process is exiting. From then on the driver's blocks are left to the system.
static EXITING: AtomicBool = AtomicBool::new(false);
/// Whether a CUDA graph was captured at some time.
static CAPTURES: AtomicBool = AtomicBool::new(false);

/// Whether the state of the process permits the use of the driver.
pub fn usable() -> Result<(), WhyNot> {
    if FORKED.load(Relaxed) {
        return Err(WhyNot::Forked);
    }
    if EXITING.load(Relaxed) { Err(WhyNot::Exiting) } else { Ok(()) }
}

/// Called before the driver is looked for.
pub fn begin_search() {
    SEARCHED.store(true, Relaxed);
}

/// Called once the driver runs: exit handlers run in reverse order, so this one runs before the driver's.
pub fn watch_exit() {
    // SAFETY: the handler stays mapped (the library is linked with -z nodelete).
    unsafe { libc::atexit(begin_exit) };
}

/// Called at the process's exit, or when the driver reports that it has ended.
pub extern "C" fn begin_exit() {
    EXITING.store(true, Relaxed);
}

/// In a forked child.
pub fn begin_child() {
    FORKED.store(is_lost_in_child(), Relaxed);
}

/// In the fork handler of a child: whether the child has lost the driver. A search by another thread of the parent never
/// ends in the child. A search that found no driver is valid in the child too.
pub fn is_lost_in_child() -> bool {
    let found_nothing = matches!(FOUND.get(), Some(Err(_)));
    FORKED.load(Relaxed) || (SEARCHED.load(Relaxed) && !found_nothing)
}

/// Whether the process is known to capture CUDA graphs.
pub fn captures_graphs() -> bool {
    // Relaxed: a hint of what other threads may be doing.
    CAPTURES.load(Relaxed)
}

/// Records that the process captures CUDA graphs. Returns whether that was known before.
pub fn note_capture() -> bool {
    CAPTURES.swap(true, Relaxed)
}

/// Records a failure that a capture caused. If it is the first, and a wait of the library invalidated the capture, reports it.
#[cold]
pub fn note_failure(failure: DriverFailure) {
    if !status::is_capture_error(failure.status) || note_capture() || failure.call != "cuCtxSynchronize" {
        return;
    }
    warn(format_args!(
        "a CUDA graph was being captured when idle blocks were to be handed out again or given back, and the wait \
         for their context has invalidated the capture; from now on no context is waited for, and blocks are not kept; \
         SYNCEDMEM_REUSE=stream keeps them without such waits"
    ));
}
