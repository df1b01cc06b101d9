//! Where the system gives no threads, as under RLIMIT_NPROC: they are not asked for again and again.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use crate::refusing::*;
use crate::support::pools::*;

/// More than may lie idle without the thread that gives idle memory back.
const BYTES: usize = 3 * MIB;

/// Gives back blocks that each want that thread.
fn give_back_many() {
    for _ in 0..200 {
        give_back(BYTES, 1);
    }
}

fn a_refused_thread_is_asked_for_once_in_a_second() {
    let start = Instant::now();
    refuse(usize::MAX, libc::EAGAIN);
    give_back_many();
    // As a rule once; a machine that is busy may need more than a second for all the blocks.
    let most = 1 + start.elapsed().as_secs() as usize + 1;
    let asked = ASKED.load(Relaxed);
    assert!((1..=most).contains(&asked), "{asked} times");
    assert!(idle(PAGEABLE) > 0, "blocks are kept without a thread, too");
}

fn once_there_are_threads_again_idle_memory_is_given_back() {
    refuse(1, libc::EAGAIN);
    give_back_many();
    until(|| {
        drop(filled(BYTES, 1));
        ASKED.load(Relaxed) > 1
    });
    until(|| idle(PAGEABLE) == 0);
}

fn a_thread_whose_stack_is_too_small_for_the_systems_has_the_usual_one() {
    refuse(1, libc::EINVAL);
    // One block: where it is taken again, the thread may end, and the next one starts another.
    give_back(BYTES, 1);
    assert_eq!(ASKED.load(Relaxed), 2);
}

crate::support::harness::tests![
    alone(&[]):
    a_refused_thread_is_asked_for_once_in_a_second,
    a_thread_whose_stack_is_too_small_for_the_systems_has_the_usual_one;
    alone(&[("SYNCEDMEM_POOL_AGE", "0.1")]): once_there_are_threads_again_idle_memory_is_given_back
];
