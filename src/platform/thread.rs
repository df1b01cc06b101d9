//! Threads of the library's own, and what it asks of the program's.
//!
//! Its own are started when there is work, with every signal blocked, since signals are the program's.
//!
//! By pthread_create and not by std, which cannot do without memory, and panics where there is none.
#![expect(unsafe_code, reason = "pthread_create")]

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::clock::coarse_milliseconds;

/// What a thread does.
pub type Body = extern "C" fn(*mut c_void) -> *mut c_void;

/// Bytes of address space for its stack: what the CUDA driver may need, and not the 8 MiB that a program's threads get.
const STACK: usize = 1 << 20;

/// For so many milliseconds after the system refused a thread, no other is asked for: each try costs 50 times as much as
/// the block that the thread is wanted for.
const REFUSED_FOR: u64 = 1000;

/// Until when no thread is asked for, in milliseconds.
static NOT_BEFORE: AtomicU64 = AtomicU64::new(0);

/// Starts a detached thread; `false` if the system has none to give, or had none a moment ago.
///
/// # Safety
/// `argument` is what `body` needs, and stays so until it is done with it.
pub unsafe fn start(body: Body, argument: *mut c_void) -> bool {
    // Relaxed, here and below: a hint. A thread that does not see the refusal yet asks once more.
    if coarse_milliseconds() < NOT_BEFORE.load(Relaxed) {
        return false;
    }
    let before = block_signals();
    // SAFETY: the caller guarantees it.
    let mut thread = unsafe { create(Some(STACK), body, argument) };
    if thread == Err(libc::EINVAL) {
        // A stack of that size has no room for the thread-local storage of all libraries: it has the usual size.
        // SAFETY: the caller guarantees it.
        thread = unsafe { create(None, body, argument) };
    }
    restore_signals(&before);
    let Ok(thread) = thread else {
        NOT_BEFORE.store(coarse_milliseconds() + REFUSED_FOR, Relaxed);
        return false;
    };
    // SAFETY: it was just started, and nobody joins it.
    unsafe { libc::pthread_detach(thread) };
    true
}

/// The error is one of errno's numbers.
///
/// # Safety
/// As for [`start`].
unsafe fn create(stack: Option<usize>, body: Body, argument: *mut c_void) -> Result<libc::pthread_t, i32> {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: it is writable.
    let failed = unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) };
    if failed != 0 {
        return Err(failed);
    }
    if let Some(bytes) = stack {
        // SAFETY: initialised above. A size that is refused leaves the usual one.
        unsafe { libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), bytes) };
    }
    let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
    // SAFETY: all three are live; the argument is what the body needs, says the caller.
    let failed = unsafe { libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), body, argument) };
    // SAFETY: initialised above, and not used again.
    unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
    if failed != 0 {
        return Err(failed);
    }
    // SAFETY: pthread_create has written it.
    Ok(unsafe { thread.assume_init() })
}

/// The kernel's number of this thread.
pub fn number() -> u32 {
    // SAFETY: gettid has no preconditions.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

/// Bytes that are left of this thread's stack. The process's first thread is taken to have as much as it wants: to ask
/// would mean to read the list of all mappings.
pub fn stack_left() -> usize {
    if number() == std::process::id() {
        return usize::MAX;
    }
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: pthread_self has no preconditions.
    let this = unsafe { libc::pthread_self() };
    // SAFETY: it is writable.
    if unsafe { libc::pthread_getattr_np(this, attributes.as_mut_ptr()) } != 0 {
        return 0;
    }
    let (mut lowest, mut bytes) = (std::ptr::null_mut(), 0);
    // SAFETY: written above; both are writable.
    unsafe { libc::pthread_attr_getstack(attributes.as_ptr(), &mut lowest, &mut bytes) };
    // SAFETY: written above, and not used again.
    unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
    (&raw const lowest).addr().saturating_sub(lowest.addr())
}

/// Blocks every signal on this thread, and on those that it starts, and returns what was blocked.
pub fn block_signals() -> libc::sigset_t {
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: it is writable.
    unsafe { libc::sigfillset(all.as_mut_ptr()) };
    // SAFETY: one is filled, the other writable.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) };
    // SAFETY: zeros are a set, and pthread_sigmask with these arguments always writes it.
    unsafe { before.assume_init() }
}

/// Lets those signals come again that came before.
pub fn restore_signals(before: &libc::sigset_t) {
    // SAFETY: it is a set.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, std::ptr::null_mut()) };
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_threads_stack_is_known() {
        // At least as large: the C library may hand out an older thread's.
        let thread = std::thread::Builder::new().stack_size(512 << 10);
        let left = thread.spawn(stack_left).unwrap().join().unwrap();
        assert!((256 << 10..1 << 30).contains(&left), "{left} bytes");
    }
}
