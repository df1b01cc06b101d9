//! The threads that are asking for the mode. Not a `thread_local!`: see `platform::thread_pointer`.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::platform::sync::this_thread;

/// A thread beyond these gets no answer.
const PLACES: usize = 64;
/// Threads' ids; 0: free. Relaxed: a thread looks only for its own.
static ASKING: [AtomicUsize; PLACES] = [const { AtomicUsize::new(0) }; PLACES];

pub struct Asking(&'static AtomicUsize);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.store(0, Relaxed);
    }
}

/// `None` if this thread is marked already, or no place is free.
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
