//! A condition variable under the lock on the state.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, MutexGuard, PoisonError};
use std::time::Duration;

/// Raised when streams are released and when bytes of a block no longer move.
pub static CHANGED: Signal = Signal::new();

/// A condition variable that costs nothing to raise while no thread waits.
///
/// A thread holds the state's lock until it waits, and held it when it changed the condition before it raises: so the
/// count of waiting threads is never read too early.
pub struct Signal {
    condition: Condvar,
    waiting: AtomicUsize,
}

impl Signal {
    pub const fn new() -> Signal {
        Signal { condition: Condvar::new(), waiting: AtomicUsize::new(0) }
    }

    pub fn wait<'g, T>(&self, guard: MutexGuard<'g, T>) -> MutexGuard<'g, T> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let guard = self.condition.wait(guard).unwrap_or_else(PoisonError::into_inner);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        guard
    }

    /// Returns also whether the time has passed.
    pub fn wait_for<'g, T>(&self, guard: MutexGuard<'g, T>, time: Duration) -> (MutexGuard<'g, T>, bool) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let (guard, result) = self.condition.wait_timeout(guard, time).unwrap_or_else(PoisonError::into_inner);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        (guard, result.timed_out())
    }

    pub fn raise(&self) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.condition.notify_all();
        }
    }
}
