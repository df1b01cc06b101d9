use std::ffi::{c_int, c_void};

use crate::error::Error;
use crate::error::callback_slot::Slot;
use crate::state::flags::{self, MAY_PIN};

/// Returns `Caffe::mode()` on the calling thread, 0 for CPU, 1 for GPU: see `syncedmem_set_mode_callback`.
#[expect(non_camel_case_types, reason = "the name of the C API")]
pub type syncedmem_mode_callback_t = Option<unsafe extern "C-unwind" fn(user: *mut c_void) -> c_int>;

static REGISTERED: Slot<unsafe extern "C-unwind" fn(*mut c_void) -> c_int> = Slot::empty();

/// # Safety
/// `callback` and `user` stay usable until the process ends.
pub unsafe fn set(callback: syncedmem_mode_callback_t, user: *mut c_void) -> Result<(), Error> {
    REGISTERED.set(callback, user)?;
    flags::raise_if(true, MAY_PIN);
    Ok(())
}

#[inline]
pub fn is_registered() -> bool {
    !REGISTERED.is_empty()
}

pub fn ask() -> Option<c_int> {
    let (callback, user) = REGISTERED.get()?;
    // SAFETY: the caller of `set` keeps callback and argument usable until the process ends.
    Some(unsafe { callback(user) })
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C-unwind" fn what_user_points_to(user: *mut c_void) -> c_int {
        // SAFETY: the test registers it with an int.
        unsafe { user.cast::<c_int>().read() }
    }

    #[test]
    fn the_callback_last_registered_answers_with_what_it_was_given() {
        let mut answers = [1, 0, 7];
        assert_eq!(ask(), None);
        for (answer, is_gpu) in [(0, true), (1, false), (2, false)] {
            let user = (&raw mut answers[answer]).cast();
            // SAFETY: both stay usable until the next registration, and no other thread of this process asks.
            assert_eq!(unsafe { set(Some(what_user_points_to), user) }, Ok(()));
            assert_eq!(ask(), Some(answers[answer]));
            assert_eq!(crate::caffe::is_gpu(true), is_gpu);
        }
        // SAFETY: none is registered.
        assert_eq!(unsafe { set(None, std::ptr::null_mut()) }, Ok(()));
        assert_eq!(ask(), None);
    }
}
