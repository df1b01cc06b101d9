#![expect(unsafe_code, reason = "the object lives in storage of its own")]

use std::ops::Deref;
use std::ptr::NonNull;

use super::SyncedMemory;
use crate::error::Error;
use crate::platform::owners::Owners;

/// An owner of an object of [`SyncedMemory::create`]. The last one destroys it; its tensors may outlive that.
///
/// The count of owners lies in the object's storage: an owner is the object's handle in C, and no second allocation can fail.
#[derive(Debug)]
pub struct Shared(NonNull<SyncedMemory>);

// SAFETY: an object may be used and ended on any thread.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    pub fn new(bytes: usize) -> Result<Shared, Error> {
        let shared = Shared(SyncedMemory::create(bytes)?);
        // SAFETY: the storage is that of `create`.
        let owners = unsafe { SyncedMemory::behind(shared.0) };
        // SAFETY: nothing else uses it while the object lives.
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
        // SAFETY: the storage is that of `create`.
        let owners = unsafe { SyncedMemory::behind(self.0) };
        // SAFETY: `new` wrote it there, and it stays while there is an owner.
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
            // An error: a caller has ended the object.
            // SAFETY: it is an object of `create`, which only its tensors may be using.
            let _ = unsafe { self.destroy() };
        }
    }
}
