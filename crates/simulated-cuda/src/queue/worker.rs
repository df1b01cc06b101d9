//! The thread that works off a stream's operations: it handles no signal of the program.
#![expect(unsafe_code, reason = "blocks the signals of the threads it starts")]

use std::thread::JoinHandle;

pub fn start(work: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    // The thread inherits the mask: it handles no signal of the program.
    // SAFETY: a signal set is plain data, for which zeros are a value.
    let (mut all, mut old): (libc::sigset_t, libc::sigset_t) = unsafe { std::mem::zeroed() };
    // SAFETY: the set is this function's.
    unsafe { libc::sigfillset(&mut all) };
    // SAFETY: the set is this function's. A kernel's stray access goes to `fault`.
    unsafe { libc::sigdelset(&mut all, libc::SIGSEGV) };
    // SAFETY: both sets are this function's.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old) };
    let worker = std::thread::Builder::new().name("simcuda stream".into()).spawn(work);
    // SAFETY: `old` is what the call before filled.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &old, std::ptr::null_mut()) };
    worker
}
