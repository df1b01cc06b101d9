//! The lock of all workspaces' blobs and all blobs' values.
#![expect(unsafe_code, reason = "the thread that has the lock may use the values")]

use std::cell::UnsafeCell;

use crate::platform::sync::{Lock, locked_static};

/// Proof that this thread has the lock.
pub struct Held(());

locked_static! {
    /// Lock order: a thread that has it takes no other lock and calls no function of a caller.
    static LOCK: Lock<Held> = Lock::new(Held(()));
}

/// Runs `work` under the lock. `work` returns values that it takes out, because dropping them may call the caller's functions.
pub fn locked<R>(work: impl FnOnce(&mut Held) -> R) -> R {
    LOCK.with(work)
}

#[derive(Default)]
pub struct Guarded<T>(UnsafeCell<T>);

// SAFETY: one thread at a time has the lock, without which `get` and `get_mut` cannot be called.
unsafe impl<T: Send> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    pub fn new(value: T) -> Self {
        Guarded(UnsafeCell::new(value))
    }

    /// The value. It needs no lock, because `&mut self` is the only reference.
    pub fn alone(&mut self) -> &mut T {
        self.0.get_mut()
    }

    pub fn get<'h>(&'h self, _held: &'h Held) -> &'h T {
        // SAFETY: this thread has the lock; while `_held` is shared, no result of `get_mut` lives.
        unsafe { &*self.0.get() }
    }

    pub fn get_mut<'h>(&'h self, _held: &'h mut Held) -> &'h mut T {
        // SAFETY: this thread has the lock; `_held` is borrowed exclusively as long as the result lives.
        unsafe { &mut *self.0.get() }
    }
}
