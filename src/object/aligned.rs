//! Objects whose host side is aligned to [`ALIGNMENT`](crate::memory::malloc::ALIGNMENT) from its first byte on, whatever its
//! size: an access takes blocks of up to 4 KiB as malloc has them. Once the host side was released, the next one may be
//! aligned as malloc's.
#![expect(unsafe_code, reason = "a new object is used and, on an error, ended")]

use std::ptr::NonNull;

use syncedmem_trace::head::Head;

use super::eviction::reclaim;
use super::{ObjectState, SyncedMemory, refused, start, watch_forks};
use crate::error::Error;
use crate::memory::host;

impl SyncedMemory {
    /// As `create`, with a host side, which is the newest: zeros if `zeroed`, else undefined.
    pub fn create_at_host(bytes: usize, zeroed: bool) -> Result<NonNull<SyncedMemory>, Error> {
        let object = Self::create(bytes)?;
        // SAFETY: `create` made it, and no other thread knows it.
        let new = unsafe { object.as_ref() };
        new.add_host(bytes, zeroed).inspect_err(|_| {
            // Never fails: the object is live.
            // SAFETY: as above; it is not used again.
            let _ = unsafe { new.destroy() };
        })?;
        Ok(object)
    }

    /// Gives a new object, which no other thread knows, its host side.
    fn add_host(&self, bytes: usize, zeroed: bool) -> Result<(), Error> {
        watch_forks().map_err(refused)?;
        start();
        let pinned = host::wants_pinned(bytes);
        let request = host::Request { bytes, zeroed, pinned, aligned: true, holder: self.address() };
        let attempt = || host::allocate(request);
        let block = attempt().or_else(|error| reclaim::make_room(error, self.subject(), attempt))?;
        let word = self.load().with_head(Head::AtCpu).with_host(block.owned, block.pinned);
        self.store(ObjectState { host: Some(block.address), device: None, word }, false);
        Ok(())
    }
}
