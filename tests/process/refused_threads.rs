//! If the system refuses threads, as under RLIMIT_NPROC, the library does not ask again and again.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use crate::refusing::*;
use crate::support::pools::*;

/// More than may be idle without the thread that frees idle memory.
const BYTES: usize = 3 * MIB;

/// Gives back blocks, each of which wants that thread.
fn give_back_many() {
    for _ in 0..200 {
        give_back(BYTES, 1);
    }
}

#[test(alone)]
fn a_refused_thread_is_asked_for_once_in_a_second() {
    let start = Instant::now();
    refuse(usize::MAX, libc::EAGAIN);
    give_back_many();
    // Usually once; a busy machine may need more than a second for all the blocks.
    let most = 1 + start.elapsed().as_secs() as usize + 1;
    let asked = ASKED.load(Relaxed);
    assert!((1..=most).contains(&asked), "{asked} times");
    assert!(idle(PAGEABLE) > 0, "blocks are kept without a thread, too");
}

#[test(alone, ("SYNCEDMEM_POOL_AGE", "0.1"))]
fn once_there_are_threads_again_idle_memory_is_given_back() {
    refuse(1, libc::EAGAIN);
    give_back_many();
    until(|| {
        drop(filled(BYTES, 1));
        ASKED.load(Relaxed) > 1
    });
    until(|| idle(PAGEABLE) == 0);
}

#[test(alone)]
fn a_thread_whose_stack_is_too_small_for_the_systems_has_the_usual_one() {
    refuse(1, libc::EINVAL);
    // There is one block: when it is reused, the thread may end, and the next block starts another.
    give_back(BYTES, 1);
    assert_eq!(ASKED.load(Relaxed), 2);
}
