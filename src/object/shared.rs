//! An object with several owners: the last one destroys it.
#![expect(unsafe_code, reason = "the object lives in storage of its own")]

use std::ops::Deref;
use std::ptr::NonNull;

use super::SyncedMemory;
use crate::error::Error;
use crate::platform::owners::Owners;

/// An owner of an object of [`SyncedMemory::create`]. A clone is one more owner.
///
/// The count of owners lies in the object's own storage, so that an owner is the object's handle in C, and no second allocation can fail.
/// Tensors of the object may outlive its owners.
#[derive(Debug)]
pub struct Shared(NonNull<SyncedMemory>);

// SAFETY: an object may be used and ended on any thread.
unsafe impl Send for Shared {}
// SAFETY: its methods may be called by several threads.
unsafe impl Sync for Shared {}

impl Shared {
    /// An object of `bytes` with one owner. Neither side is allocated.
    pub fn new(bytes: usize) -> Result<Shared, Error> {
        let shared = Shared(SyncedMemory::create(bytes)?);
        // SAFETY: the storage is that of `create`.
        let owners = unsafe { SyncedMemory::behind(shared.0) };
        // SAFETY: it is not used otherwise while the object lives.
        unsafe { owners.cast().write(Owners::one()) };
        Ok(shared)
    }

    /// The address of the object: its handle in C.
    pub fn as_ptr(&self) -> *mut SyncedMemory {
        self.0.as_ptr()
    }

    /// The address of the object, which stays owned by the caller: see `from_raw`.
    pub fn into_raw(self) -> *mut SyncedMemory {
        std::mem::ManuallyDrop::new(self).as_ptr()
    }

    /// The owner that `into_raw` gave to its caller.
    ///
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
    /// Whether both own the same object.
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
            // An error means that a caller has ended the object, against the rules.
            // SAFETY: it is an object of `create`, which only its tensors may be using.
            let _ = unsafe { self.destroy() };
        }
    }
}
