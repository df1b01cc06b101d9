//! The primitives whose interleavings matter: on std's atomics, or on loom's when the protocol is model-checked.

#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

pub(crate) use std::sync::atomic::Ordering;

use cell::UnsafeCell;

/// A lock for a few instructions at a time. One atomic operation takes it and a plain store gives it back, which
/// is half of what std's costs; it has no owner, so a forked child can give back what its parent took.
pub(crate) struct Lock<T> {
    /// 0: free, 1: held.
    state: AtomicU32,
    value: UnsafeCell<T>,
}

#[expect(unsafe_code, reason = "a lock hands out its value from behind a shared reference")]
mod lock {
    use super::*;

    // SAFETY: `with` gives the value to one thread at a time.
    unsafe impl<T: Send> Sync for Lock<T> {}

    impl<T> Lock<T> {
        #[cfg(not(loom))]
        pub(crate) const fn new(value: T) -> Self {
            Lock { state: AtomicU32::new(0), value: UnsafeCell::new(value) }
        }

        #[cfg(loom)]
        pub(crate) fn new(value: T) -> Self {
            Lock { state: AtomicU32::new(0), value: UnsafeCell::new(value) }
        }

        /// Does `work` with the lock held.
        #[inline]
        pub(crate) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
            struct Held<'l, T>(&'l Lock<T>);
            impl<T> Drop for Held<'_, T> {
                #[inline]
                fn drop(&mut self) {
                    self.0.release();
                }
            }
            self.acquire();
            let _held = Held(self);
            // SAFETY: the lock is held until `work` is done, even if it panics.
            self.value.with_mut(|value| work(unsafe { &mut *value }))
        }

        /// Takes the lock without looking inside: for fork. Each is followed by one `release`, here or in the child.
        #[inline]
        pub(crate) fn acquire(&self) {
            // Acquire: what the last holder did is seen.
            if self.state.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
                self.acquire_when_free();
            }
        }

        #[cold]
        fn acquire_when_free(&self) {
            let mut tries = 0u32;
            // Acquire: as above.
            while self.state.compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
                tries = tries.saturating_add(1);
                pause(tries);
            }
        }

        #[inline]
        pub(crate) fn release(&self) {
            // Release: what was done under the lock is seen by the next holder.
            self.state.store(0, Ordering::Release);
        }
    }
}

/// Lets the holder go on: it needs nanoseconds, unless it lost its processor.
fn pause(_tries: u32) {
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(not(loom))]
    match _tries {
        0..64 => std::hint::spin_loop(),
        64..128 => std::thread::yield_now(),
        // A holder of lower priority never runs while we only yield.
        _ => std::thread::sleep(std::time::Duration::from_micros(50)),
    }
}

/// Where threads sleep until something is gone.
pub(crate) struct Gate(AtomicU32);

impl Gate {
    #[cfg(not(loom))]
    pub(crate) const fn new() -> Self {
        Gate(AtomicU32::new(0))
    }

    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Gate(AtomicU32::new(0))
    }

    /// What to wait with. Taken under the lock that also covers the decision to open.
    pub(crate) fn ticket(&self) -> u32 {
        // Relaxed: the lock orders it before the opening that it waits for.
        self.0.load(Ordering::Relaxed)
    }

    /// Wakes everybody whose ticket was taken before.
    pub(crate) fn open(&self) {
        // Relaxed: whoever wakes takes the lock again before it looks at anything.
        self.0.fetch_add(1, Ordering::Relaxed);
        #[cfg(not(loom))]
        futex::wake_all(&self.0);
    }

    /// Sleeps until the gate was opened after `ticket` was taken, or for no reason at all.
    pub(crate) fn wait(&self, ticket: u32) {
        #[cfg(not(loom))]
        futex::wait(&self.0, ticket);
        #[cfg(loom)]
        while self.0.load(Ordering::Relaxed) == ticket {
            loom::thread::yield_now();
        }
    }
}

#[cfg(not(loom))]
#[expect(unsafe_code, reason = "futex(2)")]
mod futex {
    use super::AtomicU32;

    pub fn wait(word: &AtomicU32, expected: u32) {
        const OPERATION: i32 = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        let forever = std::ptr::null::<libc::timespec>();
        // SAFETY: the word is live; the kernel only reads it.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), OPERATION, expected, forever) };
    }

    pub fn wake_all(word: &AtomicU32) {
        const OPERATION: i32 = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: the address is only a name here.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), OPERATION, i32::MAX) };
    }
}

/// loom's cell, which sees unordered access, or one of the same shape.
mod cell {
    #[cfg(loom)]
    pub(crate) use loom::cell::UnsafeCell;

    #[cfg(not(loom))]
    pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    #[cfg(not(loom))]
    impl<T> UnsafeCell<T> {
        pub(crate) const fn new(value: T) -> Self {
            UnsafeCell(std::cell::UnsafeCell::new(value))
        }

        #[inline]
        pub(crate) fn with_mut<R>(&self, work: impl FnOnce(*mut T) -> R) -> R {
            work(self.0.get())
        }
    }
}
