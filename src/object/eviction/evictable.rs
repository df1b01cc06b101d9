use super::uses::{Policy, Use, Uses};
use crate::error::Error;
use crate::object::SyncedMemory;

impl SyncedMemory {
    /// Addresses handed out before a first policy do not count as accesses.
    pub fn set_evictable(&self, policy: Policy) -> Result<(), Error> {
        self.head()?;
        // An eviction finds the object by its address.
        std::ptr::from_ref(self).expose_provenance();
        self.keep_apart()?;
        let claim = self.claim_always()?;
        let now = self.state()?;
        let known = claim.with(|entry| match entry.uses {
            None if policy != Policy::Never => entry.tensors.refuse(None).map(|()| None),
            known => Ok(known),
        })?;
        // Open accesses stay open.
        let uses = (policy != Policy::Never).then(|| known.map_or_else(|| Uses::new(policy), |uses| uses.with(policy)));
        self.publish_with(claim, now, Use::None, |entry| entry.uses = uses);
        Ok(())
    }

    pub fn evictable(&self) -> Result<Policy, Error> {
        self.head()?;
        let uses = self.with_entry(|entry| entry.and_then(|entry| entry.uses))?;
        Ok(uses.map_or(Policy::Never, |uses| uses.policy))
    }

    pub fn end_access(&self) -> Result<(), Error> {
        self.head()?;
        self.with_entry(|entry| entry.map_or(Ok(()), |entry| entry.end_access()))?
    }
}
