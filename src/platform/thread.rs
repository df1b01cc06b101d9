//! The library's own threads, which block every signal, because signals are the program's; and queries about the calling
//! thread. Std's threads panic without memory.
#![expect(unsafe_code, reason = "pthread_create")]

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::clock::coarse_milliseconds;

pub type Body = extern "C" fn(*mut c_void) -> *mut c_void;

/// Bytes, less than the usual 8 MiB: own threads never call the driver.
const STACK: usize = 1 << 20;

/// Milliseconds without an attempt after a refusal: one attempt costs 50 times as much as the block that the thread is for.
const REFUSED_FOR: u64 = 1000;

static NOT_BEFORE: AtomicU64 = AtomicU64::new(0);

/// Starts a detached thread; `false` if the system refuses, or did within `REFUSED_FOR`.
///
/// # Safety
/// `argument` is valid for `body` until the thread has finished with it.
pub unsafe fn start(body: Body, argument: *mut c_void) -> bool {
    // Relaxed: a thread that misses the store makes one attempt more.
    if coarse_milliseconds() < NOT_BEFORE.load(Relaxed) {
        return false;
    }
    let before = block_signals();
    // SAFETY: the caller of `start` keeps the argument valid.
    let mut thread = unsafe { create(Some(STACK), body, argument) };
    if thread == Err(libc::EINVAL) {
        // The stack is too small for the thread-local storage of all libraries.
        // SAFETY: the caller of `start` keeps the argument valid.
        thread = unsafe { create(None, body, argument) };
    }
    restore_signals(&before);
    let Ok(thread) = thread else {
        NOT_BEFORE.store(coarse_milliseconds() + REFUSED_FOR, Relaxed);
        return false;
    };
    // SAFETY: nothing joins the new thread.
    unsafe { libc::pthread_detach(thread) };
    true
}

/// The error is an errno.
///
/// # Safety
/// `argument` is valid for `body` until the thread has finished with it.
unsafe fn create(stack: Option<usize>, body: Body, argument: *mut c_void) -> Result<libc::pthread_t, i32> {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: `attributes` is writable.
    let failed = unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) };
    if failed != 0 {
        return Err(failed);
    }
    if let Some(bytes) = stack {
        // SAFETY: pthread_attr_init succeeded. A refused size leaves the default.
        unsafe { libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), bytes) };
    }
    let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
    // SAFETY: `thread` is writable, `attributes` initialised; the caller of `create` keeps the argument valid.
    let failed = unsafe { libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), body, argument) };
    // SAFETY: the attributes are initialised, and not used again.
    unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
    if failed != 0 {
        return Err(failed);
    }
    // SAFETY: pthread_create wrote it.
    Ok(unsafe { thread.assume_init() })
}

/// The kernel's id of the calling thread.
pub fn id() -> u32 {
    // SAFETY: gettid has no preconditions. glibc has a function only since 2.30.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

/// Bytes left on the calling thread's stack. For the process's first thread, whose size takes reading all mappings, the
/// largest number.
pub fn stack_left() -> usize {
    if id() == std::process::id() {
        return usize::MAX;
    }
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: pthread_self has no preconditions.
    let this = unsafe { libc::pthread_self() };
    // SAFETY: `attributes` is writable.
    if unsafe { libc::pthread_getattr_np(this, attributes.as_mut_ptr()) } != 0 {
        return 0;
    }
    let (mut lowest, mut bytes) = (std::ptr::null_mut(), 0);
    // SAFETY: pthread_getattr_np wrote it, and both results are writable.
    unsafe { libc::pthread_attr_getstack(attributes.as_ptr(), &mut lowest, &mut bytes) };
    // SAFETY: pthread_getattr_np initialised them, and they are not used again.
    unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
    (&raw const lowest).addr().saturating_sub(lowest.addr())
}

/// Blocks every signal on this thread and those that it starts. Returns the previous mask.
pub fn block_signals() -> libc::sigset_t {
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `all` is writable.
    unsafe { libc::sigfillset(all.as_mut_ptr()) };
    // SAFETY: sigfillset wrote it.
    mask_signals(libc::SIG_SETMASK, unsafe { all.assume_init_ref() })
}

pub fn restore_signals(before: &libc::sigset_t) {
    mask_signals(libc::SIG_SETMASK, before);
}

/// Calls pthread_sigmask(3). Returns the previous mask.
pub fn mask_signals(how: c_int, set: &libc::sigset_t) -> libc::sigset_t {
    let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: `set` is valid, `before` writable.
    unsafe { libc::pthread_sigmask(how, set, before.as_mut_ptr()) };
    // SAFETY: zeros are a valid set.
    unsafe { before.assume_init() }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_threads_stack_is_known() {
        // This is the least: the C library may reuse an older thread's larger stack.
        let thread = std::thread::Builder::new().stack_size(512 << 10);
        let left = thread.spawn(stack_left).unwrap().join().unwrap();
        assert!((256 << 10..1 << 30).contains(&left), "{left} bytes");
    }
}
