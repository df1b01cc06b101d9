//! Fork handlers: the forking thread holds this library's locks during a fork, so that no other thread holds one in the child.
#![expect(unsafe_code, reason = "pthread_atfork")]

use std::cell::RefCell;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::nets::{self, Nets};
use crate::sharing::messages::{self, Messages};
use crate::{guarded, sharing};

type Guards = (MutexGuard<'static, Option<Nets>>, MutexGuard<'static, Messages>);

/// Takes the locks in the order in which all threads take them.
fn lock() -> Guards {
    (nets::lock(), messages::lock())
}

thread_local! {
    /// One entry for each fork that this thread is in, the innermost last. Only the first has the locks: a fork handler of the program may
    /// fork, too.
    static HELD: RefCell<Vec<Option<Guards>>> = const { RefCell::new(Vec::new()) };
}

/// Registers the handlers. libsyncedmem has registered its own at load, so its locks are taken after these.
pub fn watch() -> Option<()> {
    // Not a `Once`: a forked child would block if another thread of the parent was registering.
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    if !REGISTERED.swap(true, Ordering::Relaxed) {
        // SAFETY: the handlers are never unloaded, because this library is not.
        unsafe { libc::pthread_atfork(Some(prepare), Some(end), Some(end)) };
    }
    Some(())
}

unsafe extern "C" fn prepare() {
    guarded(|| {
        HELD.with_borrow_mut(|held| {
            // Reads the settings, in whose `OnceLock` a child would wait for another thread.
            sharing::is_on();
            let guard = held.is_empty().then(lock);
            held.push(guard);
        });
        Some(())
    });
}

unsafe extern "C" fn end() {
    guarded(|| HELD.with_borrow_mut(Vec::pop));
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;

    #[test]
    fn a_child_finds_the_locks_free_while_another_thread_takes_them() {
        watch();
        let ends = AtomicBool::new(false);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                while !ends.load(Relaxed) {
                    drop(lock());
                }
            });
            for _ in 0..200 {
                // SAFETY: the child only takes the locks and ends.
                let child = unsafe { libc::fork() };
                if child == 0 {
                    // SAFETY: alarm has no preconditions; it ends a child that blocks.
                    unsafe { libc::alarm(10) };
                    drop(lock());
                    // SAFETY: _exit has no preconditions.
                    unsafe { libc::_exit(0) };
                }
                let mut status = 0;
                // SAFETY: `status` is writable.
                assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
                assert_eq!(status, 0);
            }
            ends.store(true, Relaxed);
        });
    }
}
