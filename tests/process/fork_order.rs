//! Forks within the fork handlers of other libraries. tests/abi/library.rs has handlers that take locks, for each way to load.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use crate::support::*;

const FORKS: usize = 100;

/// Creates, touches and ends objects: a small one, and one that is large enough for a claim.
fn use_objects() -> bool {
    [100, 50_000].into_iter().all(|bytes| Object::new(bytes).mutable_cpu_data().is_ok())
}

/// Forks a child, which uses objects and ends.
fn fork_and_use() {
    in_a_child(|| assert!(use_objects()));
}

/// Forks again and again while other threads do `work`.
fn fork_beside(work: impl Fn() + Sync) {
    unsafe { libc::alarm(HANGS_AFTER) };
    beside(3, |_, _| work(), || (0..FORKS).for_each(|_| fork_and_use()));
}

/// The handlers below that fork. They take turns, so that a nested fork does not nest another one.
static BEFORE: AtomicBool = AtomicBool::new(false);
static AFTER: AtomicBool = AtomicBool::new(false);
static NESTED: AtomicUsize = AtomicUsize::new(0);

fn fork_in_prepare(nests: &AtomicBool) {
    if nests.swap(false, Relaxed) {
        fork_and_use();
        NESTED.fetch_add(1, Relaxed);
        nests.store(true, Relaxed);
    }
}

extern "C" fn prepare_before() {
    fork_in_prepare(&BEFORE);
}

extern "C" fn prepare_after() {
    fork_in_prepare(&AFTER);
}

/// Runs before the library is loaded, whose handlers are then registered later, as if a program loaded it by dlopen.
#[used]
#[unsafe(link_section = ".preinit_array")]
static BEFORE_THE_LIBRARY: extern "C" fn() = register_before_the_library;

extern "C" fn register_before_the_library() {
    unsafe { libc::pthread_atfork(Some(prepare_before), None, None) };
}

#[test(alone)]
fn a_fork_in_a_prepare_handler_that_was_registered_before_the_library_leaves_the_outer_fork_whole() {
    BEFORE.store(true, Relaxed);
    fork_beside(|| assert!(use_objects()));
    assert_eq!(NESTED.load(Relaxed), FORKS);
}

#[test(alone)]
fn a_fork_in_a_prepare_handler_that_was_registered_after_the_library_leaves_the_outer_fork_whole() {
    assert_eq!(unsafe { libc::pthread_atfork(Some(prepare_after), None, None) }, 0);
    AFTER.store(true, Relaxed);
    fork_beside(|| assert!(use_objects()));
    assert_eq!(NESTED.load(Relaxed), FORKS);
}
