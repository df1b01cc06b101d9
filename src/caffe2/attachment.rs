//! A binding's own object for a tensor or a blob. The first attachment stays until the end.
#![expect(unsafe_code, reason = "a pointer of the caller's, and the function that ends it")]

use std::ffi::c_void;
use std::ptr::null_mut;

use super::external::Foreign;
use super::lock::{Guarded, locked};

#[derive(Default)]
pub struct Attachment(Guarded<Option<Attached>>);

struct Attached(Foreign);

// SAFETY: the C caller attaches a pointer that any thread may use and end ("Callbacks" in syncedmem_caffe2.h).
unsafe impl Send for Attached {}

impl Attachment {
    /// The attached pointer; null if nothing is attached.
    pub fn get(&self) -> *mut c_void {
        locked(|held| self.0.get(held).as_ref().map_or(null_mut(), |attached| attached.0.pointer.as_ptr()))
    }

    /// Attaches `new` unless something is attached, and returns what is attached. If that is older, `new` stays the caller's.
    pub fn attach(&self, new: Foreign) -> *mut c_void {
        locked(|held| self.0.get_mut(held).get_or_insert(Attached(new)).0.pointer.as_ptr())
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        if let Some(Attached(Foreign { pointer, deleter: Some(deleter), context })) = self.0.alone().take() {
            // SAFETY: the C caller passed the deleter for this pointer; it is called once.
            unsafe { deleter(pointer.as_ptr(), context) };
        }
    }
}
