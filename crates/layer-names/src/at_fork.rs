//! A fork takes locks before, so that a child finds none held by a thread that it does not have.

use std::any::Any;
use std::cell::RefCell;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Of one fork; empty if this thread has them already.
pub type Locks = Vec<Box<dyn Any>>;

/// Takes all locks, in the order in which a thread takes them.
static TAKE: OnceLock<fn() -> Locks> = OnceLock::new();

thread_local! {
    /// Of this thread's forks, the innermost last: a handler of the program's may fork.
    static HELD: RefCell<Vec<Locks>> = const { RefCell::new(Vec::new()) };
}

/// Registers the handlers. Those of libsyncedmem are registered at load: its locks, which are taken under these, come later.
pub fn watch(take: fn() -> Locks) -> Option<()> {
    TAKE.get_or_init(|| {
        // SAFETY: the handlers stay: this library is never unloaded.
        unsafe { libc::pthread_atfork(Some(prepare), Some(end), Some(end)) };
        take
    });
    Some(())
}

unsafe extern "C" fn prepare() {
    crate::naming(|| {
        HELD.with_borrow_mut(|held| {
            let locks = TAKE.get().filter(|_| held.is_empty()).map_or_else(Locks::new, |take| take());
            held.push(locks);
        });
        Some(())
    });
}

unsafe extern "C" fn end() {
    crate::naming(|| HELD.with_borrow_mut(Vec::pop));
}

/// The value, also after a panic in its midst.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    use super::*;

    fn locks() -> Locks {
        static ONE: Mutex<()> = Mutex::new(());
        vec![Box::new(lock(&ONE))]
    }

    #[test]
    fn a_child_finds_the_locks_free_while_another_thread_takes_them() {
        watch(locks);
        let ends = AtomicBool::new(false);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                while !ends.load(Relaxed) {
                    drop(locks());
                }
            });
            for _ in 0..200 {
                // SAFETY: the child takes the locks, and ends.
                let child = unsafe { libc::fork() };
                if child == 0 {
                    // SAFETY: it ends a child that waits for a lock.
                    unsafe { libc::alarm(10) };
                    drop(locks());
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
