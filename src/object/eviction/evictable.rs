use syncedmem_trace::head::Side;

use super::policy::{Policy, Use};
use crate::error::Error;
use crate::object::claims::Identity;
use crate::object::{EXPORTS, ObjectState, POLICIES, SyncedMemory, TABLE};
use crate::platform::sync::{Interrupted, Ordering};

impl SyncedMemory {
    /// Addresses handed out before a first policy do not count as accesses.
    pub fn set_evictable(&self, policy: Policy) -> Result<(), Error> {
        self.head()?;
        // An eviction finds the object by its address.
        std::ptr::from_ref(self).expose_provenance();
        self.keep_apart();
        let claim = self.claim_always()?;
        let now = self.state()?;
        // Purges an earlier object's entry, without the table's lock: an eviction that this waits for may need it.
        if policy == Policy::Never || !POLICIES.has(self.identity_for_policy()) {
            if policy != Policy::Never {
                EXPORTS.refuse(self.address(), None)?;
            }
            POLICIES.purge(self.address());
        }
        if policy != Policy::Never && !claim.under_lock(|| POLICIES.set(self.identity_for_policy(), policy)) {
            return Err(Error::no_room(size_of::<Identity>()));
        }
        self.publish(claim, now, Use::None);
        Ok(())
    }

    pub fn evictable(&self) -> Result<Policy, Error> {
        self.head()?;
        Ok(TABLE.under_lock(self.address(), || POLICIES.get(self.identity_for_policy()))?)
    }

    pub fn end_access(&self) -> Result<(), Error> {
        self.head()?;
        if POLICIES.is_empty() {
            return Ok(());
        }
        match TABLE.under_lock(self.address(), || POLICIES.end(self.identity_for_policy()))?? {
            Some(false) => Err(Error::NoOpenAccess),
            Some(true) | None => Ok(()),
        }
    }

    /// Returns whether the object is evictable. Called, like the next, under the table's lock.
    pub(in crate::object) fn open_access(&self) -> Result<bool, Interrupted> {
        if POLICIES.is_empty() { Ok(false) } else { POLICIES.open(self.identity_for_policy()) }
    }

    pub(in crate::object) fn is_evictable(&self) -> bool {
        POLICIES.has(self.identity_for_policy())
    }

    /// See `Registry::follow`.
    #[inline]
    pub(in crate::object) fn policy_follows(&self, state: ObjectState, means: Use) -> bool {
        !POLICIES.is_empty() && self.policy_follows_to(state, self.size.load(Ordering::Relaxed), means)
    }

    /// For an operation that changes the size too.
    #[cold]
    pub(in crate::object) fn policy_follows_to(&self, state: ObjectState, size: usize, means: Use) -> bool {
        let [host, device] = [Side::Host, Side::Device].map(|side| state.pointer(side).addr());
        let after = Identity { object: self.address(), host, device, size };
        POLICIES.follow(self.identity_for_policy(), after, means)
    }

    /// An untouched object has no blocks, whatever its bytes say.
    pub(in crate::object) fn identity_for_policy(&self) -> Identity {
        let identity = self.identity();
        if self.load().is_untouched() { Identity { host: 0, device: 0, ..identity } } else { identity }
    }
}
