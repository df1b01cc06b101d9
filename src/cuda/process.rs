//! What the process does beside the library: it exits, it was forked, it captures CUDA graphs.
#![expect(unsafe_code, reason = "atexit")]

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::{FOUND, status};
use crate::error::{DriverFailure, WhyNot};
use crate::platform::text::{Text, to_stderr};

/// Whether the driver was looked for.
static BEGUN: AtomicBool = AtomicBool::new(false);
/// Whether this process was forked from one in which the driver was found, or was just being looked for.
static FORKED: AtomicBool = AtomicBool::new(false);
/// Whether the process is exiting. From then on blocks of the driver's are left to the system.
static EXITING: AtomicBool = AtomicBool::new(false);

/// Whether the driver may be used, as far as the process goes. Asks nobody.
pub fn usable() -> Result<(), WhyNot> {
    if FORKED.load(Relaxed) {
        return Err(WhyNot::Forked);
    }
    if EXITING.load(Relaxed) { Err(WhyNot::Exiting) } else { Ok(()) }
}

/// Called before the driver is looked for.
pub fn begin() {
    BEGUN.store(true, Relaxed);
}

/// Called once the driver runs, so that the handler is called before the driver's own.
pub fn watch_exit() {
    // SAFETY: the handler stays mapped (the library is linked with -z nodelete).
    unsafe { libc::atexit(exiting) };
}

/// The process is exiting: its exit handlers run, or the driver has said so.
pub extern "C" fn exiting() {
    EXITING.store(true, Relaxed);
}

/// In a forked child.
pub fn begin_child() {
    FORKED.store(is_lost_in_child(), Relaxed);
}

/// Whether a child, in whose fork handlers this is asked, has lost the driver. A look that its parent's other threads
/// were at never ends there; one that found nothing holds there too.
pub fn is_lost_in_child() -> bool {
    let found_nothing = matches!(FOUND.get(), Some(Err(_)));
    FORKED.load(Relaxed) || (BEGUN.load(Relaxed) && !found_nothing)
}

/// Whether a CUDA graph was captured at some time.
static CAPTURES: AtomicBool = AtomicBool::new(false);

/// Whether the process is known to capture CUDA graphs.
pub fn captures_graphs() -> bool {
    // Relaxed: a hint of what other threads may be doing.
    CAPTURES.load(Relaxed)
}

/// Records that the process captures CUDA graphs. Returns whether that was known before.
pub fn note_capture() -> bool {
    CAPTURES.swap(true, Relaxed)
}

/// Records a failure that is due to a capture, and reports the first one that has invalidated a capture.
#[cold]
pub fn note_failure(failure: DriverFailure) {
    if !status::is_of_capture(failure.status) || note_capture() || failure.call != "cuCtxSynchronize" {
        return;
    }
    let said = Text::<600>::of(format_args!(
        "libsyncedmem: a CUDA graph was being captured when idle blocks were to be handed out again or given back, and the wait \
         for their context has invalidated the capture; from now on no context is waited for, and blocks are not kept; \
         SYNCEDMEM_REUSE=stream keeps them without such waits\n"
    ));
    to_stderr(said.as_bytes());
}
