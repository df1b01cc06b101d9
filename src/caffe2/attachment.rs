//! A language's own object for a tensor or a blob.
//!
//! Invariant: the first attachment stays until the end, so its address may be given out without a lock.
#![expect(unsafe_code, reason = "a pointer of the caller's, and the function that ends it")]

use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};

use super::error::Error;
use super::external::Lent;
use crate::platform::fallible_arc::FallibleArc;

#[derive(Default)]
pub struct Attachment(AtomicPtr<Attached>);

struct Attached(Lent);

// SAFETY: the caller of `attach` guarantees that any thread may use and end it.
unsafe impl Send for Attached {}
// SAFETY: as above.
unsafe impl Sync for Attached {}

impl Attachment {
    /// Null if nothing is attached.
    pub fn get(&self) -> *mut c_void {
        // Acquire: sees the writes of the thread that attached it.
        let attached = NonNull::new(self.0.load(Ordering::Acquire));
        // SAFETY: it stays as long as `self`.
        attached.map_or(null_mut(), |attached| unsafe { attached.as_ref() }.0.pointer.as_ptr())
    }

    /// Returns the attachment: an older one, if any, and then `new` stays the caller's.
    pub fn attach(&self, new: Lent) -> Result<*mut c_void, Error> {
        let made = FallibleArc::new(Attached(new)).map_err(Error::no_room)?.into_address();
        if self.0.compare_exchange(null_mut(), made.as_ptr(), Ordering::AcqRel, Ordering::Acquire).is_err() {
            // SAFETY: `into_address` gave this holder up; no other thread knows it.
            drop(unsafe { FallibleArc::from_address(made) });
        }
        Ok(self.get())
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        let Some(attached) = NonNull::new(*self.0.get_mut()) else { return };
        // SAFETY: `attach` put its only holder there.
        let Some(Attached(lent)) = unsafe { FallibleArc::from_address(attached) }.into_value() else { return };
        if let Some(deleter) = lent.deleter {
            // SAFETY: the caller of `attach` guarantees it.
            unsafe { deleter(lent.pointer.as_ptr(), lent.context) };
        }
    }
}
