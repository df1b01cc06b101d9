use super::uses::{Use, Uses};
use crate::error::Error;
use crate::object::SyncedMemory;

impl SyncedMemory {
    /// Addresses handed out before the first mark do not count as accesses.
    pub fn set_evictable(&self, evictable: bool) -> Result<(), Error> {
        self.head()?;
        // An eviction finds the object by its address.
        std::ptr::from_ref(self).expose_provenance();
        self.keep_apart()?;
        let claim = self.claim_always()?;
        let now = self.state()?;
        let known = claim.with(|entry| match entry.uses {
            None if evictable => entry.tensors.refuse(None).map(|()| None),
            known => Ok(known),
        })?;
        let uses = evictable.then(|| known.unwrap_or_else(Uses::begin));
        self.publish_with(claim, now, Use::None, |entry| entry.uses = uses);
        Ok(())
    }

    pub fn is_evictable(&self) -> Result<bool, Error> {
        self.head()?;
        Ok(self.with_entry(|entry| entry.is_some_and(|entry| entry.uses.is_some()))?)
    }

    pub fn end_access(&self) -> Result<(), Error> {
        self.head()?;
        self.with_entry(|entry| entry.map_or(Ok(()), |entry| entry.end_access()))?
    }
}
