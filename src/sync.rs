//! The primitives whose interleavings matter: std's, or loom's when the protocol is model-checked.

#[cfg(not(loom))]
pub(crate) use std::sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicPtr, AtomicU64, AtomicUsize},
};

#[cfg(loom)]
pub(crate) use loom::sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicPtr, AtomicU64, AtomicUsize},
};

use std::sync::LockResult;
pub(crate) use std::sync::atomic::Ordering;

/// Locks, whatever became of an earlier holder: no code of ours leaves a table half changed when it panics.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    unpoisoned(mutex.lock())
}

/// Waits for a notification; the lock is given up meanwhile.
pub(crate) fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    unpoisoned(condvar.wait(guard))
}

fn unpoisoned<G>(result: LockResult<G>) -> G {
    result.unwrap_or_else(std::sync::PoisonError::into_inner)
}
