//! Objects in storage of the library's own: those of `syncedmem_create`.
#![expect(unsafe_code, reason = "storage from malloc")]

use std::ptr::NonNull;

use super::dlpack::Imported;
use super::dlpack::exchange;
use super::dlpack::exports::Fate;
use super::{EXPORTS, SyncedMemory};
use crate::error::{Cause, Error};
use crate::memory::host;
use crate::state::head::Side;

/// As large as BVLC's class, so that a debugger may look at it as one.
const OBJECT_BYTES: usize = 40;

impl SyncedMemory {
    /// Makes an object of `bytes`: nothing but itself is allocated.
    #[inline(always)]
    pub fn create(bytes: usize) -> Result<NonNull<SyncedMemory>, Error> {
        host::check_size(bytes, Side::Host)?;
        // SAFETY: malloc has no preconditions; its memory is aligned to 16.
        let storage = NonNull::new(unsafe { libc::malloc(OBJECT_BYTES) }.cast::<SyncedMemory>())
            .ok_or(Error::OutOfMemory { side: Side::Host, asked: OBJECT_BYTES, cause: Cause::Bookkeeping })?;
        // A tensor's deleter finds the object by its address, and all of its storage.
        storage.as_ptr().expose_provenance();
        // SAFETY: fresh storage, aligned and large enough.
        unsafe { SyncedMemory::construct(storage, bytes) };
        Ok(storage)
    }

    /// Ends an object of `create`, or, while tensors of it are in use, lets the last of them end it.
    ///
    /// # Safety
    /// It is an object of `create`; nobody but its tensors uses it or its pointers any more.
    #[inline]
    pub unsafe fn destroy(&self) -> Result<(), Error> {
        // SAFETY: the caller guarantees it.
        if unsafe { self.destruct_small() } {
            // SAFETY: the object ended.
            unsafe { self.free_storage() };
            return Ok(());
        }
        self.head()?;
        match EXPORTS.destroy(self.address())? {
            // SAFETY: the caller guarantees it.
            Fate::Ends => unsafe { self.end() },
            Fate::Waits => Ok(()),
        }
    }

    /// Ends an object of `create`.
    ///
    /// # Safety
    /// It is an object of `create`; nobody uses it or its pointers any more.
    pub(super) unsafe fn end(&self) -> Result<(), Error> {
        // SAFETY: the caller guarantees it.
        let imported = unsafe { self.end_alone() }?;
        if let Some(imported) = imported {
            exchange::end_imports(imported.into_iter().flatten());
        }
        Ok(())
    }

    /// The same, but what was imported to it is the caller's to end.
    ///
    /// # Safety
    /// As for `end`.
    #[inline]
    pub(super) unsafe fn end_alone(&self) -> Result<Option<[Option<Imported>; 2]>, Error> {
        // SAFETY: the caller guarantees it.
        unsafe { self.destruct_alone() }?;
        let imported = (!EXPORTS.is_empty()).then(|| EXPORTS.forget(self.address()));
        // SAFETY: the object ended.
        unsafe { self.free_storage() };
        Ok(imported)
    }

    /// # Safety
    /// It was an object of `create`, and ended.
    #[inline]
    unsafe fn free_storage(&self) {
        if cfg!(not(feature = "checked")) {
            // SAFETY: `create` took it from malloc.
            unsafe { libc::free(std::ptr::from_ref(self).cast_mut().cast()) };
        }
    }

    /// Where the next one is noted down of objects that wait for their end: behind what an object is made of.
    ///
    /// # Safety
    /// It is an object of `create`, which was destroyed, and of which no tensor is left.
    pub(super) unsafe fn next_to_end(object: NonNull<SyncedMemory>) -> NonNull<Option<NonNull<SyncedMemory>>> {
        const { assert!(size_of::<SyncedMemory>() + size_of::<usize>() <= OBJECT_BYTES) };
        // SAFETY: the storage of such an object has room for it.
        unsafe { object.add(1).cast() }
    }
}
