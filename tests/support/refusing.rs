//! Threads that the system refuses: this takes the place of `pthread_create` in the program that includes it.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering::Relaxed};

type Body = extern "C" fn(*mut c_void) -> *mut c_void;
type Create = unsafe extern "C" fn(*mut libc::pthread_t, *const libc::pthread_attr_t, Body, *mut c_void) -> c_int;

/// The error that a thread is refused with; 0: it is not.
static REFUSAL: AtomicI32 = AtomicI32::new(0);
/// How many threads are refused before one is given.
static REFUSALS: AtomicUsize = AtomicUsize::new(0);
/// How many threads were asked for.
pub static ASKED: AtomicUsize = AtomicUsize::new(0);

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
pub fn refuse(count: usize, error: c_int) {
    REFUSAL.store(error, Relaxed);
    REFUSALS.store(count, Relaxed);
    ASKED.store(0, Relaxed);
}
