//! Registers the fork handlers of `process`, and knows whether this process is a forked child.
#![expect(unsafe_code, reason = "pthread_atfork")]

use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

pub struct Handlers {
    pub prepare: extern "C" fn(),
    pub parent: extern "C" fn(),
    pub child: extern "C" fn(),
}

/// Null before the library is loaded.
static HANDLERS: AtomicPtr<Handlers> = AtomicPtr::new(std::ptr::null_mut());
static REGISTERED: AtomicBool = AtomicBool::new(false);
/// Whether the library was used with its handlers registered.
static USED: AtomicBool = AtomicBool::new(false);
static IN_CHILD: AtomicBool = AtomicBool::new(false);

/// Called at load.
pub fn register(handlers: &'static Handlers) {
    HANDLERS.store(std::ptr::from_ref(handlers).cast_mut(), Ordering::Release);
    register_once_more();
}

fn register_once_more() {
    // SAFETY: null, or the static that `register` stored.
    let Some(handlers) = (unsafe { HANDLERS.load(Ordering::Acquire).as_ref() }) else { return };
    let (prepare, parent, child) = (Some(handlers.prepare as _), Some(handlers.parent as _), Some(handlers.child as _));
    // SAFETY: the handlers stay mapped (-z nodelete).
    let failed = unsafe { libc::pthread_atfork(prepare, parent, child) };
    REGISTERED.store(failed == 0, Ordering::Relaxed);
}

/// Whether the handlers are registered; tries again if memory was lacking at load. Called at each claim.
#[inline]
pub fn watch() -> bool {
    // Relaxed: if two threads register them at once, the second run is a nested fork to `sync::forking`.
    USED.load(Ordering::Relaxed) || begin()
}

pub fn is_watched() -> bool {
    USED.load(Ordering::Relaxed)
}

#[cold]
fn begin() -> bool {
    if HANDLERS.load(Ordering::Acquire).is_null() {
        // A constructor of the program's runs before the library's.
        return true;
    }
    if !REGISTERED.load(Ordering::Relaxed) {
        register_once_more();
    }
    USED.store(REGISTERED.load(Ordering::Relaxed), Ordering::Relaxed);
    USED.load(Ordering::Relaxed)
}

pub fn begin_child() {
    IN_CHILD.store(USED.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// Whether this process was forked from one that used the library.
pub fn in_child() -> bool {
    IN_CHILD.load(Ordering::Relaxed)
}
