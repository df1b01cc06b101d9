//! Registers the fork handlers of `process`, and knows whether this process is a forked child.
#![expect(unsafe_code, reason = "pthread_atfork")]

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static REGISTERED: AtomicBool = AtomicBool::new(false);
static IN_CHILD: AtomicBool = AtomicBool::new(false);

pub fn register(prepare: extern "C" fn(), parent: extern "C" fn(), child: extern "C" fn()) {
    let [prepare, parent, child] = [prepare, parent, child].map(|handler| Some(handler as _));
    // SAFETY: the handlers stay mapped (-z nodelete).
    let failed = unsafe { libc::pthread_atfork(prepare, parent, child) };
    // glibc has static space for the handlers of a program's first libraries, and allocates memory for more.
    REGISTERED.store(failed == 0, Relaxed);
}

/// Whether the handlers are registered. They are not in a constructor of the program that runs before the library's.
pub fn is_watched() -> bool {
    REGISTERED.load(Relaxed)
}

pub fn begin_child(was_used: bool) {
    IN_CHILD.store(was_used, Relaxed);
}

/// Whether this process was forked from one that used the library.
pub fn in_child() -> bool {
    IN_CHILD.load(Relaxed)
}
