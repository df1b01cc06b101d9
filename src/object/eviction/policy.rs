//! Objects that are marked as evictable, as their users see it: the mark, and the accesses that they end.

use super::evictable::{Eviction, Use};
use crate::error::{Cause, Error};
use crate::object::claims::Identity;
use crate::object::{EXPORTS, MARKED, Outcome, SyncedMemory, TABLE};
use crate::platform::sync::{Interrupted, Ordering};
use crate::state::head::Side;

impl SyncedMemory {
    /// Says what may be evicted of the object when memory runs out while it has no open access. Addresses that were
    /// handed out before a first mark count for nothing.
    pub fn set_evictable(&self, how: Eviction) -> Result<(), Error> {
        self.head()?;
        // An eviction finds the object by its address.
        std::ptr::from_ref(self).expose_provenance();
        let claim = self.claim_always()?;
        let now = self.now()?;
        // What is here may be an earlier object's. Whom it waits for may want the table's lock.
        if how == Eviction::Never || !MARKED.is_marked(self.marked_identity()) {
            if how != Eviction::Never {
                EXPORTS.refuse(self.address(), None)?;
            }
            MARKED.purge(self.address());
        }
        if how != Eviction::Never && !claim.under_lock(|| MARKED.mark(self.marked_identity(), how)) {
            let (side, asked) = (Side::Host, size_of::<Identity>());
            return Err(Error::OutOfMemory { side, asked, cause: Cause::Bookkeeping });
        }
        self.publish(claim, now, Use::None);
        Ok(())
    }

    /// What may be evicted of the object.
    pub fn evictable(&self) -> Result<Eviction, Error> {
        self.head()?;
        Ok(TABLE.under_lock(self.address(), || MARKED.how(self.marked_identity()))?)
    }

    /// Ends an access: one address that was handed out is not used any more.
    pub fn end_access(&self) -> Result<(), Error> {
        self.head()?;
        if MARKED.is_empty() {
            return Ok(());
        }
        match TABLE.under_lock(self.address(), || MARKED.end(self.marked_identity()))?? {
            Some(false) => Err(Error::NoOpenAccess),
            Some(true) | None => Ok(()),
        }
    }

    /// Opens an access to the object if it is marked, and says whether it is. Asked under the table's lock.
    pub(in crate::object) fn opens_access(&self) -> Result<bool, Interrupted> {
        if MARKED.is_empty() { Ok(false) } else { MARKED.open(self.marked_identity()) }
    }

    /// Whether the object is marked. Asked under the table's lock.
    pub(in crate::object) fn is_marked(&self) -> bool {
        MARKED.how(self.marked_identity()) != Eviction::Never
    }

    /// Lets the object's mark follow to what it is about to become, and says whether it has one.
    #[inline]
    pub(in crate::object) fn mark_follows(&self, outcome: Outcome, means: Use) -> bool {
        !MARKED.is_empty() && self.mark_follows_to(outcome, self.size.load(Ordering::Relaxed), means)
    }

    /// The same, where the size changes too.
    #[cold]
    pub(in crate::object) fn mark_follows_to(&self, outcome: Outcome, size: usize, means: Use) -> bool {
        let [host, device] = [Side::Host, Side::Device].map(|side| outcome.pointer(side).addr());
        let after = Identity { object: self.address(), host, device, size };
        MARKED.follow(self.marked_identity(), after, means)
    }

    /// What tells the object from another at its address. An untouched one has no blocks, whatever its bytes say.
    pub(in crate::object) fn marked_identity(&self) -> Identity {
        let identity = self.identity();
        if self.load().is_untouched() { Identity { host: 0, device: 0, ..identity } } else { identity }
    }
}
