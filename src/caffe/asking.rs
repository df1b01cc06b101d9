//! Which threads are asking for the mode right now. Not a `thread_local!`: see `ffi::per_thread`.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::platform::sync::this_thread;

/// More threads than ask at once; one beyond gets no answer.
const PLACES: usize = 64;
/// The threads' names; 0 where there is none. Relaxed: a thread looks for its own name alone.
static ASKING: [AtomicUsize; PLACES] = [const { AtomicUsize::new(0) }; PLACES];

/// That this thread asks, until it is dropped.
pub struct Asking(&'static AtomicUsize);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.store(0, Relaxed);
    }
}

/// Notes that this thread asks; `None` if it does already, or there is no place.
pub fn begin() -> Option<Asking> {
    let thread = this_thread();
    if ASKING.iter().any(|place| place.load(Relaxed) == thread) {
        return None;
    }
    ASKING.iter().find(|place| place.compare_exchange(0, thread, Relaxed, Relaxed).is_ok()).map(Asking)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_asks_does_not_ask_again_and_others_do() {
        let first = begin();
        assert!(first.is_some());
        assert!(begin().is_none());
        assert!(std::thread::spawn(|| begin().is_some()).join().expect("it does not panic"));
        drop(first);
        assert!(begin().is_some());
    }
}
