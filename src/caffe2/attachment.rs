//! A binding's own object for a tensor or a blob. The first attachment stays until the end.
#![expect(unsafe_code, reason = "a pointer of the caller's, and the function that ends it")]

use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};

use super::external::Foreign;
use super::lock::{Guarded, locked};
use super::typemeta::syncedmem_deleter_t;

#[derive(Default)]
pub struct Attachment(Guarded<Option<Attached>>);

struct Attached(Foreign);

// SAFETY: the C caller attaches a pointer that any thread may use and end ("Callbacks" in syncedmem_caffe2.h).
unsafe impl Send for Attached {}

impl Attachment {
    /// Attaches `pointer`, unless it is null or something is attached. Returns what is attached; if that is older, `pointer`
    /// stays the caller's.
    pub fn attach(&self, pointer: *mut c_void, deleter: syncedmem_deleter_t, context: *mut c_void) -> *mut c_void {
        let new = NonNull::new(pointer).map(|pointer| Attached(Foreign { pointer, deleter, context }));
        locked(|held| {
            let attached = self.0.get_mut(held);
            *attached = attached.take().or(new);
            attached.as_ref().map_or(null_mut(), |attached| attached.0.pointer.as_ptr())
        })
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
