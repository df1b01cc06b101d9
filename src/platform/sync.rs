//! Locks on std's atomics or, in a model, on loom's.

#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

pub(crate) use std::sync::atomic::Ordering;

use cell::UnsafeCell;

/// A lock that is held for nanoseconds: never during a fill, copy, driver call or callback.
///
/// One atomic operation takes it and a plain store releases it, at half the cost of std's. A signal handler that has
/// interrupted the owner does not wait.
pub(crate) struct Lock<T> {
    /// `FREE`, `FORK`, or the owning thread's id.
    state: AtomicUsize,
    value: UnsafeCell<T>,
}

/// A signal handler has interrupted the lock's owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

const FREE: usize = 0;
/// The lock is held for a fork: only the forking thread may enter. This is no thread's id.
const FORK: usize = 1;

/// A lock that is held from before a fork until after it, in parent and child.
pub(crate) trait ForkLock {
    fn at_fork(&self, step: ForkStep);
}

#[derive(Clone, Copy)]
pub(crate) enum ForkStep {
    Lock,
    Unlock,
}

impl<L: ForkLock, const N: usize> ForkLock for [L; N] {
    fn at_fork(&self, step: ForkStep) {
        self.iter().for_each(|lock| lock.at_fork(step));
    }
}

/// Declares a static with a lock, and the function for the table of `process`. In a model the static is lazy, because
/// loom's atomics have no constant constructors.
macro_rules! locked_static {
    ($(#[$attribute:meta])* static $name:ident: $type:ty = $value:expr;) => {
        $crate::platform::sync::locked_static! {
            $(#[$attribute])* static $name: $type = $value; fn fork_lock
        }
    };
    ($(#[$attribute:meta])* static $name:ident: $type:ty = $value:expr; fn $fork_lock:ident) => {
        $(#[$attribute])*
        #[cfg(not(loom))]
        static $name: $type = $value;
        #[cfg(loom)]
        loom::lazy_static! {
            $(#[$attribute])*
            static ref $name: $type = $value;
        }

        pub(crate) fn $fork_lock() -> &'static dyn $crate::platform::sync::ForkLock {
            let lock: &'static $type = &$name;
            lock
        }
    };
}
pub(crate) use locked_static;

/// Defines `new`, which is constant except in a model.
macro_rules! constructor {
    ($(#[$attribute:meta])* $visibility:vis fn new($($argument:ident: $type:ty)?) -> Self $body:block) => {
        $(#[$attribute])*
        #[cfg(not(loom))]
        $visibility const fn new($($argument: $type)?) -> Self $body

        #[cfg(loom)]
        $visibility fn new($($argument: $type)?) -> Self $body
    };
}
pub(crate) use constructor;

#[expect(unsafe_code, reason = "a lock hands out its value from behind a shared reference")]
mod lock {
    use super::*;

    // SAFETY: `with` hands the value to one thread at a time.
    unsafe impl<T: Send> Sync for Lock<T> {}

    impl<T> Lock<T> {
        constructor! {
            pub(crate) fn new(value: T) -> Self {
                Lock { state: AtomicUsize::new(FREE), value: UnsafeCell::new(value) }
            }
        }

        #[inline]
        pub(crate) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
            self.take_within(FOR_EVER).unwrap_or_else(wait_for_ever).enter(work)
        }

        /// Serves signal handlers: fails if this thread owns the lock already, or another one keeps it for longer than
        /// `naps`. That owner may be waiting for malloc's lock or another of the interrupted thread's.
        #[inline]
        pub(crate) fn try_with<R>(&self, naps: u32, work: impl FnOnce(&mut T) -> R) -> Result<R, Interrupted> {
            self.take_within(naps).map(|held| held.enter(work)).ok_or(Interrupted)
        }

        #[inline]
        fn take_within(&self, naps: u32) -> Option<Held<'_, T>> {
            let thread = this_thread();
            // Acquire: sees the last owner's effects.
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
                // In another library's fork handler, this thread's own fork has the lock.
                let is_free = before == FREE || (before == FORK && forking::is_this_thread());
                // Acquire: sees the last owner's effects.
                let take =
                    || self.state.compare_exchange_weak(before, thread, Ordering::Acquire, Ordering::Relaxed).is_ok();
                if is_free && take() {
                    return Some(Held { lock: self, before });
                }
                if tries.saturating_sub(BEFORE_NAPS) >= naps {
                    return None;
                }
                tries = tries.saturating_add(1);
                pause(tries);
            }
        }

        /// Whether the lock becomes free within `naps` naps. Serves signal handlers.
        pub(crate) fn is_free_within(&self, naps: u32) -> bool {
            // Relaxed: the guarded value is not read.
            let state = || self.state.load(Ordering::Relaxed);
            (0..naps).take_while(|_| state() != FREE && state() != this_thread()).for_each(|_| nap());
            state() == FREE
        }
    }

    impl<T> ForkLock for Lock<T> {
        fn at_fork(&self, step: ForkStep) {
            match step {
                // In a nested fork this thread owns it already.
                ForkStep::Lock => self.take_within(FOR_EVER).into_iter().for_each(|mut held| held.before = FORK),
                ForkStep::Unlock if self.state.load(Ordering::Relaxed) == FORK => {
                    drop(Held { lock: self, before: FREE })
                }
                ForkStep::Unlock => {}
            }
        }
    }

    /// A signal handler hangs here if it makes a call that the header forbids there, and needs a lock of the interrupted thread.
    #[cold]
    fn wait_for_ever<T>() -> T {
        loop {
            nap();
        }
    }

    /// Dropping it sets the word to `before`: `FREE`, or `FORK` during this thread's fork.
    struct Held<'l, T> {
        lock: &'l Lock<T>,
        before: usize,
    }

    impl<T> Held<'_, T> {
        #[inline]
        fn enter<R>(self, work: impl FnOnce(&mut T) -> R) -> R {
            // SAFETY: `self` holds the lock until `work` returns or panics.
            self.lock.value.with_mut(|value| work(unsafe { &mut *value }))
        }
    }

    impl<T> Drop for Held<'_, T> {
        #[inline]
        fn drop(&mut self) {
            // Release: the next owner sees this one's effects.
            self.lock.state.store(self.before, Ordering::Release);
        }
    }
}

/// `pthread_self`, the address of the thread's control block, so never 0 or 1. It is read without a call, because every lock
/// needs it.
#[cfg(not(loom))]
#[inline(always)]
#[expect(unsafe_code, reason = "the thread pointer is read")]
pub(crate) fn this_thread() -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        let thread: usize;
        // SAFETY: a control block begins with its own address (ELF psABI for x86-64, TLS).
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

/// The thread inside fork, from before its first lock until after its last one.
pub(crate) mod forking {
    use super::{this_thread, wait_until};
    // Std's atomic: a model has no processes.
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

    static THREAD: AtomicUsize = AtomicUsize::new(0);
    /// Depth of that thread's nested forks: a prepare handler may fork. Only that thread uses it.
    static DEPTH: AtomicUsize = AtomicUsize::new(0);

    pub(crate) fn begin() {
        wait_until(|| is_this_thread() || THREAD.compare_exchange_weak(0, this_thread(), Acquire, Relaxed).is_ok());
        DEPTH.fetch_add(1, Relaxed);
    }

    pub(crate) fn end(release: impl FnOnce()) {
        if DEPTH.fetch_sub(1, Relaxed) == 1 {
            release();
            THREAD.store(0, Release);
        }
    }

    pub(crate) fn is_this_thread() -> bool {
        // Relaxed: only this thread's own store makes it true.
        THREAD.load(Relaxed) == this_thread()
    }
}

const BEFORE_NAPS: u32 = 128;
pub(crate) const FOR_EVER: u32 = u32::MAX;

pub(crate) fn wait_until(is_done: impl Fn() -> bool) {
    let mut tries = 0u32;
    while !is_done() {
        tries = tries.saturating_add(1);
        pause(tries);
    }
}

/// The lock's owner needs nanoseconds, unless it has lost its processor.
fn pause(_tries: u32) {
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(not(loom))]
    match _tries {
        0..64 => std::hint::spin_loop(),
        64..BEFORE_NAPS => std::thread::yield_now(),
        // Yielding alone might starve an owner of lower priority.
        _ => nap(),
    }
}

/// Sleeps for 50 microseconds, by `syscall`, because std's sleep is a cancellation point.
#[expect(unsafe_code, reason = "nanosleep(2)")]
pub(crate) fn nap() {
    let time = libc::timespec { tv_sec: 0, tv_nsec: 50_000 };
    // SAFETY: `time` is live; a null remainder is permitted.
    unsafe { libc::syscall(libc::SYS_nanosleep, &raw const time, std::ptr::null_mut::<libc::timespec>()) };
}

/// Threads sleep at it until another one opens it.
pub(crate) struct Gate(AtomicU32);

impl Gate {
    constructor! {
        pub(crate) fn new() -> Self {
            Gate(AtomicU32::new(0))
        }
    }

    /// The argument of `wait`. It is taken under the lock of the decision to open.
    pub(crate) fn ticket(&self) -> u32 {
        // Relaxed: the lock orders it before the `open` that it waits for.
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn open(&self) {
        // Relaxed: a woken thread takes the lock before it reads anything.
        self.0.fetch_add(1, Ordering::Relaxed);
        #[cfg(not(loom))]
        futex::wake_all(&self.0);
    }

    /// Sleeps until an `open` after the ticket was taken. May wake spuriously.
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
    // Std's atomic: a model does not sleep.
    use std::sync::atomic::AtomicU32;

    /// Sleeps while `word` is `expected`. May wake spuriously.
    pub fn wait(word: &AtomicU32, expected: u32) {
        const OPERATION: i32 = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        let forever = std::ptr::null::<libc::timespec>();
        // SAFETY: the word is live; the kernel only reads it.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), OPERATION, expected, forever) };
    }

    pub fn wake_all(word: &AtomicU32) {
        const OPERATION: i32 = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: the kernel uses the address as a key only.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), OPERATION, i32::MAX) };
    }
}

/// loom's cell, which detects unordered access, or std's with the same interface.
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
mod tests;
