//! Eviction: the library gives back one side of an object to make room.
//!
//! Work on the device may use the blocks after the last access, so their contexts are synchronized first.
#![expect(unsafe_code, reason = "blocks are copied and freed, and an object is reached by its address")]

mod evictable;
pub(crate) mod reclaim;
pub(crate) mod reclaim_summary;
mod refusal;
pub mod uses;

use std::ffi::c_void;
use std::ptr::NonNull;

use syncedmem_trace::event::{Cause, What};
use syncedmem_trace::head::{Head, Side};

use super::{Claim, Detached, ObjectState, SyncedMemory, TABLE};
use crate::cuda::context::{self, Context, ContextGuard};
use crate::cuda::driver::Driver;
use crate::cuda::synchronize;
use crate::memory::blocks;
use crate::memory::driver::allocation::Allocation;
use crate::memory::host::registration;
use crate::observe::recorder;
use crate::platform::sync::{Ordering, this_thread};
use crate::settings;
use crate::state::step::Contents;
use uses::Policy;

/// A series of evictions of objects that were last used before it began.
pub struct Round<'d> {
    driver: &'d Driver,
    side: Side,
    /// The device whose memory is wanted; `None`: any.
    ordinal: Option<i32>,
    current_device: Option<i32>,
    last_synchronized: Option<Context>,
}

impl<'d> Round<'d> {
    pub fn new(driver: &'d Driver, side: Side, ordinal: Option<i32>) -> Self {
        let current_device = context::current_device(driver).ok();
        Round { driver, side, ordinal, current_device, last_synchronized: None }
    }

    /// Synchronizes the context of the block at `address`, only on the thread's current device: see
    /// [`synchronize::context`].
    fn quiesce(&mut self, address: NonNull<c_void>, allocation: &Allocation) -> Option<()> {
        // First: a reset of the device destroys block and context.
        if Some(allocation.device) != self.current_device || allocation.is_alive(self.driver, address) != Ok(true) {
            return None;
        }
        if self.last_synchronized != Some(allocation.context) {
            let _guard = ContextGuard::enter(self.driver, allocation.context).ok()?;
            synchronize::context(self.driver).ok()?;
            self.last_synchronized = Some(allocation.context);
        }
        Some(())
    }
}

impl SyncedMemory {
    /// Evicts the round's side of the object at this address, unless it was used since `last_use`; returns the bytes given back.
    pub(super) fn evict(object: usize, last_use: u64, policy: Policy, round: &mut Round<'_>) -> Option<usize> {
        // Does not block: the other thread may be waiting for an object that this thread has claimed (deadlock).
        let claim = TABLE.claim_to_evict(object, this_thread(), |entry| entry.is_unused_since(last_use))?;
        // SAFETY: `set_evictable`'s caller guarantees that this library's destructor, which waits for the claim, runs before the
        // storage goes.
        let object = unsafe { &*std::ptr::with_exposed_provenance::<SyncedMemory>(object) };
        let mut claim = object.sorted(claim);
        // After a failed copy the object's next user gets the context's error.
        let is_own = object.load().is_slow() && claim.with(|entry| entry.is_of(object.identity()));
        if !is_own || object.finish_if_done(&mut claim, round.driver) != Ok(true) {
            return None;
        }
        let now = object.now().ok()?;
        let (next, new) = object.without_side(&claim, now, policy, round)?;
        let owned = object.owned(now.word);
        let bytes = object.size.load(Ordering::Relaxed);
        // A thread may have used the object meanwhile without a claim.
        let is_evicted = claim.publish(
            |entry| {
                let is_unused = entry.is_unused_since(last_use);
                if is_unused {
                    object.store(next, entry.keeps());
                }
                is_unused
            },
            || object.identity(),
        );
        if is_evicted {
            let (side, newest) = (round.side, policy == Policy::Always);
            recorder::record(object.subject(), || What::Evicted { side, bytes: bytes as u64, newest });
        }
        let unwanted = if is_evicted { owned.of(round.side) } else { new };
        // SAFETY: the object does not refer to the block; no access is open, and work on the device was synchronized.
        unsafe { unwanted.free() };
        is_evicted.then_some(bytes)
    }

    /// The object without the side, and the block that was made for its data on the other. `None`: not to be evicted by `policy`.
    fn without_side(
        &self,
        claim: &Claim<'_>,
        now: ObjectState,
        policy: Policy,
        round: &mut Round<'_>,
    ) -> Option<(ObjectState, Detached)> {
        let (side, other) = (round.side, round.side.other());
        if !self.owns(side).ok()? {
            return None;
        }
        let is_redundant = now.head().is_current(other);
        if is_redundant != (policy == Policy::Redundant) || (is_redundant && now.block(other).is_none()) {
            return None;
        }
        self.quiesce_blocks(now, round)?;
        let (full, new) =
            if is_redundant { (now, Detached::default()) } else { self.with_both_sides(claim, now, round)? };
        Some((full.with_head(Head::only_at(other)).without(side), new))
    }

    fn quiesce_blocks(&self, now: ObjectState, round: &mut Round<'_>) -> Option<()> {
        if let Some(address) = now.device {
            // The context of borrowed memory is unknown, and may be gone.
            let (allocation, _) = blocks::find(address).filter(|&(_, holder)| holder == self.address())?;
            if round.ordinal.is_some_and(|ordinal| ordinal != allocation.device) {
                return None;
            }
            round.quiesce(address, &allocation)?;
        }
        let Some(address) = now.host else { return Some(()) };
        match blocks::find(address).filter(|_| now.word.is_pinned()) {
            Some((allocation, _)) => round.quiesce(address, &allocation),
            // Memory registered in place has no context; the device block's was synchronized.
            None if registration::is_registered(address) => now.device.map(drop),
            None => Some(()),
        }
    }

    /// Also returns the block that was made for the copy.
    fn with_both_sides(
        &self,
        claim: &Claim<'_>,
        now: ObjectState,
        round: &Round<'_>,
    ) -> Option<(ObjectState, Detached)> {
        let to = round.side.other();
        let (full, new) = match to {
            Side::Host => {
                // The lender does not expect a write now.
                let is_borrowed = now.host.is_some() && !now.word.owns_host();
                let pinned = settings::pins().unwrap_or(false);
                (!is_borrowed).then(|| self.with_host_block_at_once(now, Contents::Undefined, pinned).ok())?
            }
            Side::Device => {
                // Where a new block comes from is known only if there is one device.
                let is_known = now.device.is_some() || round.driver.count() == Ok(1);
                let attempt = || self.with_device_block_at_once(round.driver, now, Contents::Undefined).ok();
                is_known.then(attempt)?
            }
        }?;
        full.device.zip(full.host)?;
        self.copied(round.driver, claim, (full, new), to, Cause::Eviction).ok()
    }
}
