//! The lock of all workspaces' blobs and all blobs' values.
#![expect(unsafe_code, reason = "a value is lent to the holder of the lock")]

use std::cell::UnsafeCell;

use crate::platform::sync::{Lock, locked_static};

/// Proof that this thread holds the lock.
pub struct Held(());

locked_static! {
    /// Lock order: a thread that holds it takes no other and calls no function of a caller.
    static LOCK: Lock<Held> = Lock::new(Held(()));
}

/// `work` returns what it takes out: drops may call functions of the caller's.
pub fn locked<R>(work: impl FnOnce(&mut Held) -> R) -> R {
    LOCK.with(work)
}

#[derive(Default)]
pub struct Guarded<T>(UnsafeCell<T>);

// SAFETY: the lock lends the value to one thread at a time.
unsafe impl<T: Send> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    pub fn new(value: T) -> Self {
        Guarded(UnsafeCell::new(value))
    }

    /// Without the lock: no other thread knows the value.
    pub fn alone(&mut self) -> &mut T {
        self.0.get_mut()
    }

    pub fn get<'h>(&'h self, _held: &'h Held) -> &'h T {
        // SAFETY: this thread holds the lock; while `_held` is shared no `get_mut` lives.
        unsafe { &*self.0.get() }
    }

    pub fn get_mut<'h>(&'h self, _held: &'h mut Held) -> &'h mut T {
        // SAFETY: this thread holds the lock; `_held` is borrowed once.
        unsafe { &mut *self.0.get() }
    }
}
