//! Gives what malloc keeps of freed blocks back to the system.
//!
//! Called by the pool, once it has given its own idle blocks to `free()`.
#![expect(unsafe_code, reason = "malloc_trim(3) is looked up and called")]

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::loaded;
use crate::sync::nap;

/// malloc_trim(3): whether it gave any memory back.
type Trim = unsafe extern "C" fn(usize) -> i32;

/// The process that has a thread in malloc_trim, or 0.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Gives back all that malloc can give back, where malloc is one that can: glibc's.
pub fn return_to_system() {
    let Some(trim) = of_this_malloc() else { return };
    // One thread at a time: glibc's first call initialises the arenas, and nothing else keeps two threads from doing so at
    // once. The lock needs no fork handler: the child of a fork in the middle of a trim has another number than the lock,
    // and glibc's own handlers leave the arenas whole.
    let this = std::process::id();
    loop {
        // Acquire, with the Release below: one trim comes after the other.
        match PROCESS.compare_exchange(0, this, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => break,
            Err(holder) if holder == this => nap(),
            Err(parent) => {
                // Relaxed: the holder does not exist in this process. If it fails, another thread was first.
                let _ = PROCESS.compare_exchange(parent, 0, Ordering::Relaxed, Ordering::Relaxed);
            }
        }
    }
    // SAFETY: malloc_trim has no preconditions.
    unsafe { trim(0) };
    PROCESS.store(0, Ordering::Release);
}

/// The malloc_trim of the object whose malloc this process uses: the first one that exports malloc. Another malloc than
/// glibc's has none as a rule, and then glibc's must not be called: it would initialise arenas that nothing uses.
fn of_this_malloc() -> Option<Trim> {
    const UNKNOWN: usize = 0;
    const NONE: usize = 1;
    static FOUND: AtomicUsize = AtomicUsize::new(UNKNOWN);
    // Relaxed: two threads that look find the same.
    let mut address = FOUND.load(Ordering::Relaxed);
    if address == UNKNOWN {
        address = look().unwrap_or(NONE);
        FOUND.store(address, Ordering::Relaxed);
    }
    // SAFETY: the address of a function named malloc_trim, in an object that is never unloaded: malloc is bound to it.
    (address != NONE).then(|| unsafe { std::mem::transmute::<usize, Trim>(address) })
}

fn look() -> Option<usize> {
    let mut trim = None;
    loaded::each(|object| {
        let Some(symbols) = object.symbols().filter(|symbols| symbols.find(c"malloc").is_some()) else {
            return ControlFlow::Continue(());
        };
        trim = symbols.find(c"malloc_trim").map(|address| address.as_ptr().expose_provenance());
        ControlFlow::Break(())
    });
    trim
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn glibcs_malloc_is_trimmed_by_its_own_function() {
        assert_eq!(look(), Some((libc::malloc_trim as *const ()).expose_provenance()));
    }

    #[test]
    fn a_child_trims_although_a_thread_of_its_parent_was_trimming() {
        // As a fork in the middle of a trim leaves it: no process of this number is this one.
        let parent = std::process::id() ^ 1;
        PROCESS.store(parent, Ordering::Relaxed);
        return_to_system();
        assert_ne!(PROCESS.load(Ordering::Relaxed), parent);
    }
}
