//! A fork takes the locks before, so that a child does not find one held by a thread that it does not have.

use std::cell::RefCell;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::nets::{self, Nets};
use crate::sharing;
use crate::sharing::messages::{self, Messages};

type Guards = (MutexGuard<'static, Option<Nets>>, MutexGuard<'static, Messages>);

/// Takes the locks in the order in which threads take them.
fn lock() -> Guards {
    (nets::lock(), messages::lock())
}

thread_local! {
    /// Of this thread's forks, the innermost last: a handler of the program's may fork, when this thread has the locks already.
    static HELD: RefCell<Vec<Option<Guards>>> = const { RefCell::new(Vec::new()) };
}

/// Registers the handlers. Those of libsyncedmem are registered at load: its locks, which are taken under these, come later.
pub fn watch() -> Option<()> {
    // Not a Once: a child of fork would wait for ever for a thread that was registering.
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    if !REGISTERED.swap(true, Ordering::Relaxed) {
        // SAFETY: the handlers stay: this library is never unloaded.
        unsafe { libc::pthread_atfork(Some(prepare), Some(end), Some(end)) };
    }
    Some(())
}

unsafe extern "C" fn prepare() {
    crate::naming::naming(|| {
        HELD.with_borrow_mut(|held| {
            // A child would wait for a thread that reads the settings.
            sharing::is_on();
            let guard = held.is_empty().then(lock);
            held.push(guard);
        });
        Some(())
    });
}

unsafe extern "C" fn end() {
    crate::naming::naming(|| HELD.with_borrow_mut(Vec::pop));
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
                // SAFETY: the child takes the locks, and ends.
                let child = unsafe { libc::fork() };
                if child == 0 {
                    // SAFETY: it ends a child that waits for them.
                    unsafe { libc::alarm(10) };
                    drop(lock());
                    // SAFETY: it ends this child.
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
