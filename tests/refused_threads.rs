//! Where the system gives no threads, as under RLIMIT_NPROC: they are not asked for again and again.
#![expect(
    clippy::undocumented_unsafe_blocks,
    clippy::multiple_unsafe_ops_per_block,
    clippy::unwrap_used,
    reason = "a test plays the foreign caller, and answers for what it passes"
)]

mod support;

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use support::pools::*;
use support::*;

type Body = extern "C" fn(*mut c_void) -> *mut c_void;
type Create = unsafe extern "C" fn(*mut libc::pthread_t, *const libc::pthread_attr_t, Body, *mut c_void) -> c_int;

/// The error that a thread is refused with; 0: it is not.
static REFUSAL: AtomicI32 = AtomicI32::new(0);
/// How many threads are refused before one is given.
static REFUSALS: AtomicUsize = AtomicUsize::new(0);
/// How many threads were asked for.
static ASKED: AtomicUsize = AtomicUsize::new(0);

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    body: Body,
    argument: *mut c_void,
) -> c_int {
    ASKED.fetch_add(1, Relaxed);
    if REFUSALS.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok() {
        return REFUSAL.load(Relaxed);
    }
    let real = unsafe { libc::dlsym(libc::RTLD_NEXT, c"pthread_create".as_ptr()) };
    assert!(!real.is_null());
    let real = unsafe { std::mem::transmute::<*mut c_void, Create>(real) };
    unsafe { real(thread, attributes, body, argument) }
}

/// From now on, so many threads are refused.
fn refuse(count: usize, error: c_int) {
    REFUSAL.store(error, Relaxed);
    REFUSALS.store(count, Relaxed);
    ASKED.store(0, Relaxed);
}

/// Gives back blocks of the pool's, each of which wants the thread that gives idle memory back.
fn give_back_many() {
    for _ in 0..1000 {
        give_back(100 * KIB, 1);
    }
}

#[test]
fn a_refused_thread_is_asked_for_once_in_a_second() {
    alone(&[], || {
        let start = Instant::now();
        refuse(usize::MAX, libc::EAGAIN);
        give_back_many();
        // As a rule once; a machine that is busy may need more than a second for a thousand blocks.
        let most = 1 + start.elapsed().as_secs() as usize + 1;
        let asked = ASKED.load(Relaxed);
        assert!((1..=most).contains(&asked), "{asked} times");
        assert!(idle(PAGEABLE) > 0, "blocks are kept without a thread, too");
    });
}

#[test]
fn once_there_are_threads_again_idle_memory_is_given_back() {
    alone(&[("SYNCEDMEM_POOL_AGE", "0.1")], || {
        refuse(1, libc::EAGAIN);
        give_back_many();
        until(|| {
            drop(filled(100 * KIB, 1));
            ASKED.load(Relaxed) > 1
        });
        until(|| idle(PAGEABLE) == 0);
    });
}

#[test]
fn a_thread_whose_stack_is_too_small_for_the_systems_has_the_usual_one() {
    alone(&[], || {
        refuse(1, libc::EINVAL);
        give_back_many();
        assert_eq!(ASKED.load(Relaxed), 2);
    });
}
