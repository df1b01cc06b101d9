//! The error callback of C++ entry points.

use std::ffi::{c_char, c_void};

use crate::abi::per_thread::{self, Sentence};
use crate::abi::status::syncedmem_status_t;
use crate::error::Error;
use crate::error::callback_slot::Slot;

/// See `syncedmem_set_error_callback`.
pub type syncedmem_error_callback_t =
    Option<unsafe extern "C-unwind" fn(status: syncedmem_status_t, message: *const c_char, user: *mut c_void)>;

static REGISTERED: Slot<unsafe extern "C-unwind" fn(syncedmem_status_t, *const c_char, *mut c_void)> = Slot::empty();

/// # Safety
/// `callback` and `user` stay usable for the rest of the process.
pub unsafe fn set(callback: syncedmem_error_callback_t, user: *mut c_void) -> Result<(), Error> {
    REGISTERED.set(callback, user)
}

/// Calls the callback, unless this thread is inside it already. Exceptions of the callback pass.
pub fn call(status: syncedmem_status_t, sentence: &Sentence) {
    let Some((callback, user)) = REGISTERED.get() else { return };
    let message = sentence.as_c_str().as_ptr();
    per_thread::unless_inside_callback(|| {
        // SAFETY: the caller of `set` keeps `callback` and `user` usable for the rest of the process.
        unsafe { callback(status, message, user) }
    });
}
