//! Keeps a thread from being cancelled inside the driver or Caffe: a cancelled thread unwinds, which frames of this library
//! do not permit.
#![expect(unsafe_code, reason = "pthread_setcancelstate(3)")]

use std::ffi::c_int;

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
}

/// `PTHREAD_CANCEL_DISABLE`.
const DISABLED: c_int = 1;

/// Disables pthread cancellation for the current thread while it lives; a request takes effect afterwards.
pub struct CancelGuard(c_int);

impl CancelGuard {
    #[inline]
    pub fn begin() -> Self {
        let mut before = 0;
        // SAFETY: `before` is writable.
        unsafe { pthread_setcancelstate(DISABLED, &mut before) };
        CancelGuard(before)
    }
}

impl Drop for CancelGuard {
    #[inline]
    fn drop(&mut self) {
        let mut ignored = 0;
        // SAFETY: `ignored` is writable, and pthread_setcancelstate returned the state to `begin`.
        unsafe { pthread_setcancelstate(self.0, &mut ignored) };
    }
}
