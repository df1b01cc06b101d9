//! The primitives whose interleavings matter: on std's atomics, or on loom's when the protocol is model-checked.

#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

pub(crate) use std::sync::atomic::Ordering;

use cell::UnsafeCell;

/// A lock for some nanoseconds at a time: a few instructions, or at most one small block from malloc and its zeros.
///
/// One atomic operation takes it and a plain store gives it back, which is half of what std's costs; it has no
/// owner, so a forked child can give back what its parent took.
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
            let _held = self.acquire().then(|| Held(self));
            // SAFETY: the lock is held until `work` is done, even if it panics: by `_held`, or by this thread's fork.
            self.value.with_mut(|value| work(unsafe { &mut *value }))
        }

        /// Takes the lock, and says whether it must be released: not if this thread is forking and has it already,
        /// inside somebody else's fork handler.
        #[inline]
        pub(crate) fn acquire(&self) -> bool {
            // Acquire: what the last holder did is seen.
            self.state.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok() || self.acquire_when_free()
        }

        #[cold]
        fn acquire_when_free(&self) -> bool {
            let mut tries = 0u32;
            loop {
                if forking::is_this_thread() {
                    return false;
                }
                // Acquire: as above.
                if self.state.compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                    return true;
                }
                tries = tries.saturating_add(1);
                pause(tries);
            }
        }

        /// Waits until the lock is free, for so many naps at most, and says whether it is: for whoever may have
        /// interrupted the holder itself.
        pub(crate) fn is_free_within(&self, naps: u32) -> bool {
            // Relaxed: nothing is read of what it guards.
            let is_free = || self.state.load(Ordering::Relaxed) == 0;
            for _ in 0..naps {
                if is_free() {
                    return true;
                }
                nap();
            }
            is_free()
        }

        #[inline]
        pub(crate) fn release(&self) {
            // Release: what was done under the lock is seen by the next holder.
            self.state.store(0, Ordering::Release);
        }
    }
}

/// The calling thread's name for the time of its life: never 0.
#[cfg(not(loom))]
#[expect(unsafe_code, reason = "pthread_self")]
pub(crate) fn this_thread() -> usize {
    // SAFETY: pthread_self has no preconditions.
    unsafe { libc::pthread_self() as usize }
}

#[cfg(loom)]
pub(crate) fn this_thread() -> usize {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    loom::thread::current().id().hash(&mut hasher);
    hasher.finish() as usize
}

/// Which thread is inside fork and holds every lock.
pub(crate) mod forking {
    use super::this_thread;
    // Not loom's: a model has no processes.
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    static THREAD: AtomicUsize = AtomicUsize::new(0);

    /// From now on it is this thread.
    pub(crate) fn begin() {
        THREAD.store(this_thread(), Relaxed);
    }

    /// No longer.
    pub(crate) fn end() {
        THREAD.store(0, Relaxed);
    }

    /// Whether it is this thread. Relaxed: nobody's store but its own can make it so.
    pub(crate) fn is_this_thread() -> bool {
        THREAD.load(Relaxed) == this_thread()
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
        _ => nap(),
    }
}

/// Sleeps for 50 microseconds. By `syscall`: std's sleep is a cancellation point, and no thread may end in here.
#[expect(unsafe_code, reason = "nanosleep(2)")]
pub(crate) fn nap() {
    let time = libc::timespec { tv_sec: 0, tv_nsec: 50_000 };
    // SAFETY: `time` is live; the remainder is not asked for.
    unsafe { libc::syscall(libc::SYS_nanosleep, &raw const time, std::ptr::null_mut::<libc::timespec>()) };
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

#[expect(unsafe_code, reason = "futex(2)")]
pub(crate) mod futex {
    // Not loom's: a model does not sleep.
    use std::sync::atomic::AtomicU32;

    /// Sleeps while `word` is `expected`, until it is woken or for no reason at all.
    pub fn wait(word: &AtomicU32, expected: u32) {
        const OPERATION: i32 = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        let forever = std::ptr::null::<libc::timespec>();
        // SAFETY: the word is live; the kernel only reads it.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), OPERATION, expected, forever) };
    }

    /// Wakes everybody who sleeps on `word`.
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn whoever_cannot_have_a_lock_in_time_is_told_so() {
        let lock = Lock::new(());
        assert!(lock.is_free_within(0));
        assert!(lock.acquire());
        assert!(!lock.is_free_within(3));
        lock.release();
        assert!(lock.is_free_within(3));
    }
}
