//! What ends the use of the driver: the process's exit, and a fork.
#![expect(unsafe_code, reason = "atexit")]

use std::sync::atomic::{
    AtomicBool, AtomicUsize,
    Ordering::{Relaxed, SeqCst},
};

use super::FOUND;
use crate::error::WhyNot;
use crate::sync::nap;

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
    unsafe { libc::atexit(at_exit) };
}

/// The driver has said that the process is exiting.
pub extern "C" fn exiting() {
    EXITING.store(true, SeqCst);
}

extern "C" fn at_exit() {
    exiting();
    // The driver's own handler is next, and must not find anybody in it. What hangs there for seconds is not waited for.
    for _ in 0..200_000 {
        if BACKGROUND.load(SeqCst) == 0 {
            break;
        }
        nap();
    }
}

/// How many threads of the library's own may be in the driver.
static BACKGROUND: AtomicUsize = AtomicUsize::new(0);

/// That a thread of the library's own may call the driver, until this is dropped: the process's exit waits for that.
pub struct Background(());

/// Leave for a thread of the library's own to call the driver, if that may still be used.
pub fn background() -> Option<Background> {
    // SeqCst, here and at exit: either this thread sees that the process is exiting, or the exit sees this thread.
    BACKGROUND.fetch_add(1, SeqCst);
    let background = Background(());
    (!EXITING.load(SeqCst) && !FORKED.load(Relaxed)).then_some(background)
}

impl Drop for Background {
    fn drop(&mut self) {
        BACKGROUND.fetch_sub(1, SeqCst);
    }
}

/// In a forked child.
pub fn begin_child() {
    // Threads of the parent's.
    BACKGROUND.store(0, SeqCst);
    FORKED.store(is_lost_in_child(), Relaxed);
}

/// Whether a child, in whose fork handlers this is asked, has lost the driver. A look that its parent's other threads
/// were at never ends there; one that found nothing holds there too.
pub fn is_lost_in_child() -> bool {
    let found_nothing = matches!(FOUND.get(), Some(Err(_)));
    FORKED.load(Relaxed) || (BEGUN.load(Relaxed) && !found_nothing)
}
