//! The user's own function for failures of C++ entry points.
#![expect(unsafe_code, reason = "a foreign function is kept and called")]

use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::error::{Cause, Error};
use crate::ffi::per_thread::{self, Sentence};
use crate::ffi::status::syncedmem_status_t;
use crate::head::Side;

/// Called when a C++ entry point failed: see `syncedmem_set_error_callback`.
#[expect(non_camel_case_types, reason = "the name of the C API")]
pub type syncedmem_error_callback_t =
    Option<unsafe extern "C-unwind" fn(status: syncedmem_status_t, message: *const c_char, user: *mut c_void)>;

struct Registered {
    callback: syncedmem_error_callback_t,
    user: *mut c_void,
}

/// Never freed once registered: another thread may have just loaded it.
static REGISTERED: AtomicPtr<Registered> = AtomicPtr::new(std::ptr::null_mut());

/// Registers a callback, or none.
///
/// # Safety
/// Both stay usable for the rest of the process.
pub unsafe fn set(callback: syncedmem_error_callback_t, user: *mut c_void) -> Result<(), Error> {
    // SAFETY: malloc has no preconditions.
    let new = unsafe { libc::malloc(size_of::<Registered>()) }.cast::<Registered>();
    if new.is_null() {
        return Err(Error::OutOfMemory { side: Side::Host, asked: size_of::<Registered>(), cause: Cause::Bookkeeping });
    }
    // SAFETY: fresh memory, large enough and aligned by malloc's contract.
    unsafe { new.write(Registered { callback, user }) };
    REGISTERED.store(new, Ordering::Release);
    Ok(())
}

/// Calls the registered function, if there is one and this thread is not inside it. It may throw through here.
pub fn call(status: syncedmem_status_t, sentence: &Sentence) {
    // SAFETY: null, or what `set` stored, which is never freed.
    let Some(registered) = (unsafe { REGISTERED.load(Ordering::Acquire).as_ref() }) else { return };
    let Some(callback) = registered.callback else { return };
    let message = per_thread::as_c_str(sentence).as_ptr();
    per_thread::unless_inside_callback(|| {
        // SAFETY: whoever registered it guaranteed that it stays usable.
        unsafe { callback(status, message, registered.user) }
    });
}
