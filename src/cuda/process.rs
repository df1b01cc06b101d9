//! What ends the use of the driver: the process's exit, and a fork.
#![expect(unsafe_code, reason = "atexit")]

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::FOUND;
use crate::error::WhyNot;

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
