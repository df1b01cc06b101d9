//! One side of one object given back, although its user has not asked for it.
//!
//! Whatever can fail comes before the outcome is published, so an object is evicted or as it was. Its blocks may still
//! be used by what ran on the device when its last access was ended: so their contexts are synchronised before. Whether an
//! access was opened since is decided under the lock that opens them.
#![expect(unsafe_code, reason = "blocks are copied and freed, and an object is reached by its address")]

pub mod evictable;
pub(crate) mod policy;
pub(crate) mod reclaim;
pub(crate) mod reclaim_summary;

use std::ffi::c_void;
use std::ptr::NonNull;

use super::claims::Patience;
use super::{Claim, Outcome, Owned, SyncedMemory};
use crate::copy::transfer::CopyError;
use crate::cuda::context::{self, Context, ContextGuard};
use crate::cuda::driver::Driver;
use crate::cuda::synchronize;
use crate::memory::driver::{blocks, record::Record};
use crate::memory::host::registration;
use crate::observe::event::{Cause, What};
use crate::observe::recorder;
use crate::platform::sync::Ordering;
use crate::settings;
use crate::state::head::{Contents, Head, Side};
use evictable::{Eviction, Taken, Use};

/// Some evictions, one after the other, of objects that were all used last before the first of them began.
pub struct Round<'d> {
    driver: &'d Driver,
    /// The side to be given back.
    side: Side,
    /// The device whose memory is wanted; any if there is none.
    ordinal: Option<i32>,
    /// The device that is the thread's current one.
    here: Option<i32>,
    /// The context that was synchronised last. Nothing that matters was started in them since.
    quiet: Option<Context>,
}

impl<'d> Round<'d> {
    /// A round that gives back `side`, on that device if there is one.
    pub fn new(driver: &'d Driver, side: Side, ordinal: Option<i32>) -> Self {
        Round { driver, side, ordinal, here: context::current_device(driver).ok(), quiet: None }
    }

    /// Waits for everything that may be using the block at `address`, whose record that is: what runs in its context. Not on
    /// another device than the thread's: a collective operation there may be waiting for what this thread is about to launch.
    fn quiesce(&mut self, address: NonNull<c_void>, record: &Record) -> Option<()> {
        if Some(record.device) != self.here {
            return None;
        }
        // Asked before its context is touched: a reset takes both along.
        if record.is_alive(self.driver, address) != Ok(true) {
            return None;
        }
        if self.quiet != Some(record.context) {
            let _guard = ContextGuard::enter(self.driver, record.context).ok()?;
            synchronize::context(self.driver).ok()?;
            self.quiet = Some(record.context);
        }
        Some(())
    }
}

impl SyncedMemory {
    /// Evicts an object's side if it may be evicted in that way, and says how many bytes that gave back.
    pub(super) fn evict(taken: &Taken<'_>, how: Eviction, round: &mut Round<'_>) -> Option<usize> {
        // SAFETY: it was marked, so it lives until its end or another object at its address drops the mark, which they
        // only do when it is put back; whoever marks an object guarantees that one of them comes before its storage goes.
        let object = unsafe { &*std::ptr::with_exposed_provenance::<SyncedMemory>(taken.object) };
        // Who waited here might wait for a thread that waits for this one.
        let mut claim = object.claim(Patience::Refuse, |_| None::<std::convert::Infallible>).ok()?;
        object.settle(&mut claim, round)?;
        if !taken.is_unused(object.marked_identity()) {
            return None;
        }
        let now = object.now().ok()?;
        let (next, new) = object.without_side(now, how, round)?;
        let owned = object.owned(now.word);
        let is_unused = || {
            let is_unused = taken.is_unused(object.marked_identity());
            if is_unused {
                object.store(next, object.mark_follows(next, Use::None));
            }
            is_unused
        };
        let old = match round.side {
            // What is borrowed stays, and so does its registration.
            Side::Host => Owned { device: None, borrowed: None, ..owned },
            Side::Device => Owned { host: None, borrowed: None, ..owned },
        };
        let bytes = object.size.load(Ordering::Relaxed);
        let is_evicted = claim.publish(is_unused, || object.identity());
        if is_evicted {
            let (side, newest) = (round.side, how == Eviction::Always);
            recorder::record(object.subject(), || What::Evicted { side, bytes: bytes as u64, newest });
        }
        let unwanted = if is_evicted { old } else { new };
        // SAFETY: the object no longer refers to it, or never did; nobody has an access open, and what ran on the device
        // before is done.
        unsafe { unwanted.free() };
        is_evicted.then_some(bytes)
    }

    /// Sees to it that nothing is in flight, without waiting for it.
    fn settle(&self, claim: &mut Claim<'_>, round: &Round<'_>) -> Option<()> {
        let Some(copy) = claim.in_flight else { return Some(()) };
        let span = recorder::begin_wait();
        match copy.is_done(round.driver) {
            Ok(true) => {
                self.tell_completed(span, copy);
                let head = self.completed(claim, copy).ok()?;
                self.set_head(claim, head);
                Some(())
            }
            Ok(false) | Err(CopyError::Unknown(_)) => None,
            Err(trouble) => {
                // Whoever uses the object meets what is wrong with its context.
                let _ = self.failed(claim, copy, trouble);
                None
            }
        }
    }

    /// What the object would be without the side, and the block that was made for its data on the other one. `None`: it
    /// cannot do without, or not in this way, or the driver would not have it.
    fn without_side(&self, now: Outcome, how: Eviction, round: &mut Round<'_>) -> Option<(Outcome, Owned)> {
        let (side, other) = (round.side, round.side.other());
        let owned = self.owned(now.word);
        match side {
            Side::Host => owned.host.map(drop),
            Side::Device => owned.device.map(drop),
        }?;
        let is_redundant = now.head().is_current(other);
        if is_redundant != (how == Eviction::Redundant) || (is_redundant && now.block(other).is_none()) {
            return None;
        }
        self.quiesce_blocks(now, round)?;
        let (full, new) = if is_redundant { (now, Owned::default()) } else { self.copied(now, round)? };
        Some((full.with_head(Head::only_at(other)).without(side), new))
    }

    /// Waits for what runs where the object's blocks are.
    fn quiesce_blocks(&self, now: Outcome, round: &mut Round<'_>) -> Option<()> {
        if let Some(address) = now.device {
            // Of somebody else's memory it is not known where it is used, nor whether it is still there.
            let record = blocks::find(address).filter(|record| record.holder == self.address())?;
            if round.ordinal.is_some_and(|ordinal| ordinal != record.device) {
                return None;
            }
            round.quiesce(address, &record)?;
        }
        let Some(address) = now.host else { return Some(()) };
        match blocks::find(address).filter(|_| now.word.is_pinned()) {
            Some(record) => round.quiesce(address, &record),
            // Memory that is page-locked where it is has no context of its own: the device block has led to one.
            None if registration::is_registered(address) => now.device.map(drop),
            None => Some(()),
        }
    }

    /// The object with its newest data on both sides, and the block that was made for that.
    fn copied(&self, now: Outcome, round: &Round<'_>) -> Option<(Outcome, Owned)> {
        let to = round.side.other();
        let (full, new) = match to {
            Side::Host => {
                // Nobody expects that the caller's own memory is written by and by.
                let is_borrowed = now.host.is_some() && !now.word.owns_host();
                let pinned = settings::pins().unwrap_or(false);
                (!is_borrowed).then(|| self.with_host_block_at_once(now, Contents::Undefined, pinned).ok())?
            }
            Side::Device => {
                // A new block is made where the object's user would have it: that is known if there is but one device.
                let is_known = now.device.is_some() || round.driver.count() == Ok(1);
                let attempt = || self.with_device_block_at_once(round.driver, now, Contents::Undefined).ok();
                is_known.then(attempt)?
            }
        }?;
        let (device, host) = (full.device?, full.host?);
        // SAFETY: both blocks are the object's own, and of its size.
        let copied = unsafe { self.copy(round.driver, full, (device, host), to, Cause::Eviction) };
        if copied.is_err() {
            // SAFETY: nobody knows it yet.
            unsafe { new.free() };
            return None;
        }
        Some((full, new))
    }
}
