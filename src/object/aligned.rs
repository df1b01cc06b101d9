//! Objects whose first host block is aligned to [`ALIGNMENT`](crate::memory::malloc::ALIGNMENT). A block of up to 4 KiB that an
//! access makes, for instance after a release, is aligned as malloc aligns.
#![expect(unsafe_code, reason = "a new object is used and, on an error, ended")]

use std::ptr::NonNull;

use syncedmem_core::head::Side;

use super::{ObjectState, SyncedMemory, reclaim, start};
use crate::error::Error;
use crate::memory::host;
use crate::state::step::Contents;

impl SyncedMemory {
    /// [`Self::create`] with a host block, which is current: zeros if `zeroed`, else undefined bytes.
    pub fn create_at_host(bytes: usize, zeroed: bool) -> Result<NonNull<SyncedMemory>, Error> {
        let object = Self::create(bytes)?;
        // SAFETY: `create` made it, and no other thread knows it.
        let new = unsafe { object.as_ref() };
        new.add_host(bytes, zeroed).inspect_err(|_| {
            // SAFETY: `create` made the object, and no other thread knows it. It is not used again. An end of a live object succeeds.
            let _ = unsafe { new.destroy() };
        })?;
        Ok(object)
    }

    fn add_host(&self, bytes: usize, zeroed: bool) -> Result<(), Error> {
        start();
        let pinned = host::wants_pinned(bytes);
        let request = host::Request { bytes, zeroed, pinned, aligned: true, owner: self.address() };
        let attempt = || host::allocate(request);
        let block = attempt().or_else(|error| reclaim::make_room(error, self.subject(), attempt))?;
        let word = self.load().with(Contents::At(Side::Host)).with_host(block.owned, block.pinned);
        self.store(ObjectState { host: Some(block.address), device: None, word }, false);
        Ok(())
    }
}
