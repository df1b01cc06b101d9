//! A language's own object for a tensor or a blob. The first attachment stays until the end.
#![expect(unsafe_code, reason = "a pointer of the caller's, and the function that ends it")]

use std::ffi::c_void;
use std::ptr::null_mut;

use super::external::Lent;
use super::lock::{Guarded, locked};

#[derive(Default)]
pub struct Attachment(Guarded<Option<Attached>>);

struct Attached(Lent);

// SAFETY: the caller of `attach` guarantees that any thread may use and end it.
unsafe impl Send for Attached {}

impl Attachment {
    /// Null if nothing is attached.
    pub fn get(&self) -> *mut c_void {
        locked(|held| self.0.get(held).as_ref().map_or(null_mut(), |attached| attached.0.pointer.as_ptr()))
    }

    /// Returns the attachment: an older one, if any, and then `new` stays the caller's.
    pub fn attach(&self, new: Lent) -> *mut c_void {
        locked(|held| self.0.get_mut(held).get_or_insert(Attached(new)).0.pointer.as_ptr())
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        if let Some(Attached(Lent { pointer, deleter: Some(deleter), context })) = self.0.alone().take() {
            // SAFETY: the caller of `attach` guarantees it.
            unsafe { deleter(pointer.as_ptr(), context) };
        }
    }
}
