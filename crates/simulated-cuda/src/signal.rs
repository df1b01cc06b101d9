//! A condition on which threads that hold the lock on the state wait.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, PoisonError};
use std::time::Duration;

use crate::state::Guard;

/// A condition variable that costs nothing to raise when no thread waits.
///
/// A thread holds the lock until it waits, and a thread that raises held the lock when the condition changed: so the
/// number of waiting threads is never read too early.
pub struct Signal {
    condition: Condvar,
    waiting: AtomicUsize,
}

impl Signal {
    pub const fn new() -> Signal {
        Signal { condition: Condvar::new(), waiting: AtomicUsize::new(0) }
    }

    /// Gives up the lock until the signal is raised.
    pub fn wait(&self, guard: Guard) -> Guard {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let guard = self.condition.wait(guard).unwrap_or_else(PoisonError::into_inner);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        guard
    }

    /// The same, but not for longer than `time`; says whether that has passed.
    pub fn wait_for(&self, guard: Guard, time: Duration) -> (Guard, bool) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let (guard, result) = self.condition.wait_timeout(guard, time).unwrap_or_else(PoisonError::into_inner);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        (guard, result.timed_out())
    }

    /// Wakes all that wait.
    pub fn raise(&self) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.condition.notify_all();
        }
    }
}
