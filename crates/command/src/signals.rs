//! Signals of this command itself.
#![expect(unsafe_code, reason = "signal(2), pthread_sigmask(3), kill(2)")]

use std::ffi::c_int;
use std::mem::MaybeUninit;

use libc::{sighandler_t, sigset_t};

/// Returns the action that the signal had.
pub fn set(signal: c_int, action: sighandler_t) -> sighandler_t {
    // SAFETY: the actions of this crate are SIG_IGN, SIG_DFL and those that this function returned.
    unsafe { libc::signal(signal, action) }
}

/// Ends this process by a signal, if its default action does.
pub fn end_by(signal: c_int) {
    set(signal, libc::SIG_DFL);
    if let Some(awaited) = set_of(std::iter::once(signal)) {
        mask(libc::SIG_UNBLOCK, &awaited);
    }
    // SAFETY: kill takes plain numbers.
    unsafe { libc::kill(std::process::id() as i32, signal) };
}

/// `None` without a signal.
fn set_of(mut signals: impl Iterator<Item = c_int>) -> Option<sigset_t> {
    let first = signals.next()?;
    let mut set = MaybeUninit::<sigset_t>::zeroed();
    for signal in std::iter::once(first).chain(signals) {
        // SAFETY: zeros are an empty set, which is writable.
        unsafe { libc::sigaddset(set.as_mut_ptr(), signal) };
    }
    // SAFETY: as above.
    Some(unsafe { set.assume_init() })
}

/// Of this thread and those that it starts. Returns the mask that it had.
pub fn mask(how: c_int, set: &sigset_t) -> sigset_t {
    let mut before = MaybeUninit::<sigset_t>::zeroed();
    // SAFETY: both are live.
    unsafe { libc::pthread_sigmask(how, set, before.as_mut_ptr()) };
    // SAFETY: zeros are a valid set.
    unsafe { before.assume_init() }
}
