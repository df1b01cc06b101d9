//! Objects in storage of the library's own: those of `syncedmem_create`.
#![expect(unsafe_code, reason = "storage from malloc")]

use std::ptr::NonNull;

use super::exports::Fate;
use super::{EXPORTS, SyncedMemory};
use crate::error::{Cause, Error};
use crate::head::Side;
use crate::host;

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
        // SAFETY: fresh storage, aligned and large enough.
        unsafe { SyncedMemory::construct(storage, bytes) };
        Ok(storage)
    }

    /// Ends an object of `create`, or, while tensors of it are in use, lets the last of them end it.
    ///
    /// # Safety
    /// It is an object of `create`; nobody but its tensors uses it or its pointers any more.
    pub unsafe fn destroy(&self) -> Result<(), Error> {
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
        unsafe { self.destruct() }?;
        if cfg!(not(feature = "checked")) {
            // SAFETY: `create` took it from malloc.
            unsafe { libc::free(std::ptr::from_ref(self).cast_mut().cast()) };
        }
        Ok(())
    }
}
