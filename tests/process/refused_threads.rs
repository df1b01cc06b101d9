//! Where the system gives no threads, as under RLIMIT_NPROC.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::support::pools::*;

/// More than may lie idle without the thread that gives idle memory back.
const BYTES: usize = 3 * MIB;

/// How many threads are refused before one is given.
static REFUSALS: AtomicUsize = AtomicUsize::new(0);

type Body = extern "C" fn(*mut c_void) -> *mut c_void;
type Create = unsafe extern "C" fn(*mut libc::pthread_t, *const libc::pthread_attr_t, Body, *mut c_void) -> c_int;

/// It takes the place of the C library's in this program.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    body: Body,
    argument: *mut c_void,
) -> c_int {
    if REFUSALS.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok() {
        return libc::EAGAIN;
    }
    let real = unsafe { libc::dlsym(libc::RTLD_NEXT, c"pthread_create".as_ptr()) };
    assert!(!real.is_null());
    let real = unsafe { std::mem::transmute::<*mut c_void, Create>(real) };
    unsafe { real(thread, attributes, body, argument) }
}

fn once_there_are_threads_again_idle_memory_is_given_back() {
    REFUSALS.store(1, Relaxed);
    give_back(BYTES, 1);
    assert_eq!(REFUSALS.load(Relaxed), 0);
    assert!(idle(PAGEABLE) > 0, "blocks are kept without a thread, too");
    give_back(BYTES, 1);
    until(|| idle(PAGEABLE) == 0);
}

crate::support::harness::tests![
    alone(&[("SYNCEDMEM_POOL_AGE", "0.1")]): once_there_are_threads_again_idle_memory_is_given_back
];
