//! Eviction: the library gives back the device side of an object whose host side is current too, to make room on the device.
//!
//! Work on the device may use the block after the last access, so its context is synchronized first.
#![expect(unsafe_code, reason = "blocks are freed, and an object is reached by its address")]

mod evictable;
pub(crate) mod reclaim;
mod refusal;
pub mod uses;

use syncedmem_trace::event::What;
use syncedmem_trace::head::{Head, Side};

use super::{ObjectState, SyncedMemory, TABLE};
use crate::cuda::context::{self, Context, ContextGuard};
use crate::cuda::driver::Driver;
use crate::cuda::synchronize;
use crate::memory::blocks;
use crate::observe::recorder;
use crate::platform::sync::{Ordering, this_thread};

/// A series of evictions of objects that were last used before it began.
pub struct Round<'d> {
    driver: &'d Driver,
    /// The device whose memory is wanted, if the thread's current device is that one.
    device: Option<i32>,
    last_synchronized: Option<Context>,
}

impl<'d> Round<'d> {
    /// Contexts of the thread's current device alone are synchronized: see [`synchronize::context`].
    pub fn new(driver: &'d Driver, ordinal: i32) -> Self {
        let device = context::current_device(driver).ok().filter(|&current| current == ordinal);
        Round { driver, device, last_synchronized: None }
    }
}

impl SyncedMemory {
    /// Evicts the object at this address, unless it was used since `last_use`; returns whether it did.
    pub(super) fn evict(object: usize, last_use: u64, round: &mut Round<'_>) -> bool {
        Self::try_to_evict(object, last_use, round).is_some()
    }

    fn try_to_evict(object: usize, last_use: u64, round: &mut Round<'_>) -> Option<()> {
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
        let is_redundant = object.owns(Side::Device).ok()? && now.head().is_current(Side::Host) && now.host.is_some();
        is_redundant.then(|| object.quiesce(now, round))??;
        let (next, owned) = (now.with_head(Head::AtCpu).without(Side::Device), object.owned(now.word));
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
        if !is_evicted {
            return None;
        }
        recorder::record(object.subject(), || What::Evicted { bytes: bytes as u64 });
        // SAFETY: the object does not refer to the block; no access is open, and work on the device was synchronized.
        unsafe { owned.of(Side::Device).free() };
        Some(())
    }

    /// Synchronizes the context of the device block, if that is on the round's device.
    fn quiesce(&self, now: ObjectState, round: &mut Round<'_>) -> Option<()> {
        let address = now.device?;
        let (allocation, _) = blocks::find(address).filter(|&(_, holder)| holder == self.address())?;
        // First: a reset of the device destroys block and context.
        if round.device != Some(allocation.device) || allocation.is_alive(round.driver, address) != Ok(true) {
            return None;
        }
        if round.last_synchronized != Some(allocation.context) {
            let _guard = ContextGuard::enter(round.driver, allocation.context).ok()?;
            synchronize::context(round.driver).ok()?;
            round.last_synchronized = Some(allocation.context);
        }
        Some(())
    }
}
