#![expect(unsafe_code, reason = "the object lives in storage of its own")]

use std::ops::Deref;
use std::ptr::NonNull;

use super::SyncedMemory;
use crate::error::Error;
use crate::platform::owners::Owners;

/// One of the owners of an object of [`SyncedMemory::create`]. The last owner destroys the object; its tensors may outlive that.
///
/// The count of owners lies in the object's storage, so an owner is the object's handle in C, and needs no second allocation.
#[derive(Debug)]
pub struct Shared(NonNull<SyncedMemory>);

// SAFETY: `SyncedMemory` may be used and ended on any thread.
unsafe impl Send for Shared {}
// SAFETY: `SyncedMemory` may be used on several threads at once.
unsafe impl Sync for Shared {}

impl Shared {
    pub fn new(bytes: usize) -> Result<Shared, Error> {
        let shared = Shared(SyncedMemory::create(bytes)?);
        // SAFETY: the object came from `create`.
        let owners = unsafe { SyncedMemory::spare(shared.0) };
        // SAFETY: only `Shared` uses the word while the object lives.
        unsafe { owners.cast().write(Owners::one()) };
        Ok(shared)
    }

    pub fn as_ptr(&self) -> *mut SyncedMemory {
        self.0.as_ptr()
    }

    pub fn into_raw(self) -> *mut SyncedMemory {
        std::mem::ManuallyDrop::new(self).as_ptr()
    }

    /// # Safety
    /// `object` came from `into_raw`, once for each call.
    pub unsafe fn from_raw(object: &SyncedMemory) -> Shared {
        Shared(NonNull::from(object))
    }

    fn owners(&self) -> &Owners {
        // SAFETY: the object came from `create`.
        let owners = unsafe { SyncedMemory::spare(self.0) };
        // SAFETY: `new` wrote the count there. It stays while there is an owner.
        unsafe { owners.cast().as_ref() }
    }
}

impl Clone for Shared {
    fn clone(&self) -> Self {
        self.owners().join();
        Shared(self.0)
    }
}

impl PartialEq for Shared {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Deref for Shared {
    type Target = SyncedMemory;

    fn deref(&self) -> &SyncedMemory {
        // SAFETY: the object lives while it has an owner.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if self.owners().leave() {
            // An error means that a caller of the C API has ended the object.
            // SAFETY: the object came from `create`, and no owner is left: only its tensors may use it.
            let _ = unsafe { self.destroy() };
        }
    }
}
