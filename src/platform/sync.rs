//! The primitives whose interleavings matter: on std's atomics, or on loom's when the protocol is model-checked.

#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

pub(crate) use std::sync::atomic::Ordering;

use cell::UnsafeCell;

/// A lock for some nanoseconds at a time: a few instructions, or at most one small block from malloc and its zeros.
///
/// One atomic operation takes it and a plain store gives it back, which is half of what std's costs. Its word names the
/// holder, so that a signal handler finds out that it has interrupted the holder itself, which it cannot wait for.
pub(crate) struct Lock<T> {
    /// `FREE`, `FORK`, or the thread that holds it.
    state: AtomicUsize,
    value: UnsafeCell<T>,
}

/// This thread holds a lock already: this is a signal handler that has interrupted it there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

const FREE: usize = 0;
/// Held for a fork: no thread is inside, and only the forking thread may enter. No control block has this address.
const FORK: usize = 1;

#[expect(unsafe_code, reason = "a lock hands out its value from behind a shared reference")]
mod lock {
    use super::*;

    // SAFETY: `with` gives the value to one thread at a time.
    unsafe impl<T: Send> Sync for Lock<T> {}

    impl<T> Lock<T> {
        #[cfg(not(loom))]
        pub(crate) const fn new(value: T) -> Self {
            Lock { state: AtomicUsize::new(FREE), value: UnsafeCell::new(value) }
        }

        #[cfg(loom)]
        pub(crate) fn new(value: T) -> Self {
            Lock { state: AtomicUsize::new(FREE), value: UnsafeCell::new(value) }
        }

        /// Does `work` with the lock held.
        #[inline]
        pub(crate) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
            self.take().unwrap_or_else(wait_for_ever).enter(work)
        }

        /// Does `work` with the lock held, unless this thread holds it already, or another one for longer than `naps`.
        ///
        /// For what a signal handler may do. The thread that it has interrupted may be in malloc, or hold another lock, and
        /// the holder of this one may be waiting for that: such a wait would take for ever.
        #[inline]
        pub(crate) fn try_with<R>(&self, naps: u32, work: impl FnOnce(&mut T) -> R) -> Result<R, Interrupted> {
            self.take_within(naps).map(|held| held.enter(work)).ok_or(Interrupted)
        }

        /// Takes the lock; `None` if this thread holds it already.
        #[inline]
        fn take(&self) -> Option<Held<'_, T>> {
            self.take_within(FOR_EVER)
        }

        #[inline]
        fn take_within(&self, naps: u32) -> Option<Held<'_, T>> {
            let thread = this_thread();
            // Acquire: what the last holder did is seen.
            match self.state.compare_exchange(FREE, thread, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => Some(Held { lock: self, before: FREE }),
                Err(_) => self.take_when_free(thread, naps),
            }
        }

        #[cold]
        fn take_when_free(&self, thread: usize, naps: u32) -> Option<Held<'_, T>> {
            let mut tries = 0u32;
            loop {
                let before = self.state.load(Ordering::Relaxed);
                if before == thread {
                    return None;
                }
                // In other people's fork handlers, this thread's own fork has the lock.
                let is_free = before == FREE || (before == FORK && forking::is_this_thread());
                // Acquire: as above.
                let is_free = is_free
                    && self.state.compare_exchange_weak(before, thread, Ordering::Acquire, Ordering::Relaxed).is_ok();
                if is_free {
                    return Some(Held { lock: self, before });
                }
                if tries.saturating_sub(BEFORE_NAPS) >= naps {
                    return None;
                }
                tries = tries.saturating_add(1);
                pause(tries);
            }
        }

        /// Takes the lock for a fork of this thread, which has it until [`Self::release`]. One that this thread holds
        /// already stays as it is: in a nested fork.
        pub(crate) fn acquire(&self) {
            if let Some(mut held) = self.take() {
                held.before = FORK;
            }
        }

        /// Gives back what `acquire` took.
        pub(crate) fn release(&self) {
            if self.state.load(Ordering::Relaxed) == FORK {
                drop(Held { lock: self, before: FREE });
            }
        }

        /// Waits until the lock is free, for so many naps at most, and says whether it is: for whoever may have
        /// interrupted the holder itself.
        pub(crate) fn is_free_within(&self, naps: u32) -> bool {
            // Relaxed: nothing is read of what it guards.
            let state = || self.state.load(Ordering::Relaxed);
            for _ in 0..naps {
                if state() == FREE || state() == this_thread() {
                    break;
                }
                nap();
            }
            state() == FREE
        }
    }

    /// What a signal handler does that wants a lock of the thread that it has interrupted, in a call that the header
    /// forbids there.
    #[cold]
    fn wait_for_ever<T>() -> T {
        loop {
            nap();
        }
    }

    /// A lock that this thread holds, and what its word becomes when this is dropped: `FREE`, or `FORK` during its fork.
    struct Held<'l, T> {
        lock: &'l Lock<T>,
        before: usize,
    }

    impl<T> Held<'_, T> {
        #[inline]
        fn enter<R>(self, work: impl FnOnce(&mut T) -> R) -> R {
            // SAFETY: the lock is held until `work` is done, even if it panics: by `self`.
            self.lock.value.with_mut(|value| work(unsafe { &mut *value }))
        }
    }

    impl<T> Drop for Held<'_, T> {
        #[inline]
        fn drop(&mut self) {
            // Release: what was done under the lock is seen by the next holder.
            self.lock.state.store(self.before, Ordering::Release);
        }
    }
}

/// The calling thread's name for the time of its life: the address of its control block, as `pthread_self` returns it, so
/// never 0 or 1. Every lock asks for it, so it is read where the psABI has it, without a call.
#[cfg(not(loom))]
#[inline(always)]
#[expect(unsafe_code, reason = "the thread pointer is read")]
pub(crate) fn this_thread() -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        let thread: usize;
        // SAFETY: the first word of a thread's control block is its own address (ELF psABI for x86-64, TLS).
        unsafe {
            std::arch::asm!("mov {}, qword ptr fs:[0]", out(reg) thread, options(pure, readonly, nostack, preserves_flags));
        }
        thread
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: pthread_self has no preconditions.
    unsafe {
        libc::pthread_self() as usize
    }
}

#[cfg(loom)]
pub(crate) fn this_thread() -> usize {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    loom::thread::current().id().hash(&mut hasher);
    hasher.finish() as usize
}

/// Which thread is inside fork: from before it takes the first lock until it has given back the last.
pub(crate) mod forking {
    use super::{pause, this_thread};
    // Not loom's: a model has no processes.
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

    static THREAD: AtomicUsize = AtomicUsize::new(0);
    /// How many forks of that thread are under way, each in a prepare handler of the one before. The thread's own.
    static DEPTH: AtomicUsize = AtomicUsize::new(0);

    /// This thread forks. Waits while another one does.
    pub(crate) fn begin() {
        let mut tries = 0u32;
        while !is_this_thread() && THREAD.compare_exchange_weak(0, this_thread(), Acquire, Relaxed).is_err() {
            tries = tries.saturating_add(1);
            pause(tries);
        }
        DEPTH.fetch_add(1, Relaxed);
    }

    /// A fork of this thread is over. `release` is called if that was the outermost one.
    pub(crate) fn end(release: impl FnOnce()) {
        if DEPTH.fetch_sub(1, Relaxed) == 1 {
            release();
            THREAD.store(0, Release);
        }
    }

    /// Whether it is this thread. Relaxed: nobody's store but its own can make it so.
    pub(crate) fn is_this_thread() -> bool {
        THREAD.load(Relaxed) == this_thread()
    }
}

/// How often a thread that waits for a lock only spins or yields, before it naps.
const BEFORE_NAPS: u32 = 128;
/// As many naps as it takes.
pub(crate) const FOR_EVER: u32 = u32::MAX;

/// Lets the holder go on: it needs nanoseconds, unless it lost its processor.
fn pause(_tries: u32) {
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(not(loom))]
    match _tries {
        0..64 => std::hint::spin_loop(),
        64..BEFORE_NAPS => std::thread::yield_now(),
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
        lock.with(|()| std::thread::scope(|scope| assert!(!scope.spawn(|| lock.is_free_within(3)).join().unwrap())));
        assert!(lock.is_free_within(3));
    }

    #[test]
    #[expect(unsafe_code, reason = "pthread_self")]
    fn a_thread_is_called_as_pthread_self_calls_it() {
        // SAFETY: pthread_self has no preconditions.
        assert_eq!(this_thread(), unsafe { libc::pthread_self() } as usize);
    }

    #[test]
    fn a_thread_does_not_wait_for_itself() {
        let lock = Lock::new(1);
        assert_eq!(lock.with(|_| lock.try_with(FOR_EVER, |_| ())), Err(Interrupted));
        assert!(!lock.with(|_| lock.is_free_within(u32::MAX)));
        assert_eq!(lock.try_with(FOR_EVER, |value| *value), Ok(1));
    }

    #[test]
    fn a_thread_waits_for_another_no_longer_than_it_says() {
        let lock = Lock::new(());
        lock.with(|()| {
            std::thread::scope(|scope| {
                assert_eq!(scope.spawn(|| lock.try_with(3, |()| ())).join().unwrap(), Err(Interrupted));
            });
        });
        assert_eq!(lock.try_with(0, |()| ()), Ok(()));
    }

    #[test]
    fn a_lock_of_this_threads_fork_is_still_the_forks_after_it_was_entered() {
        let lock = Lock::new(());
        forking::begin();
        lock.acquire();
        lock.with(|()| assert!(!lock.is_free_within(0)));
        assert_eq!(lock.state.load(Ordering::Relaxed), FORK);
        forking::end(|| lock.release());
        assert!(lock.is_free_within(0));
    }
}
