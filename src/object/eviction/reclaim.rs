//! Room for an allocation that found none, taken from what is not in use, the cheapest first:
//!
//! 1. idle blocks, which no object holds;
//! 2. sides of objects that the other side can replace: nothing is lost but time;
//! 3. sides that hold the newest data, which is copied to the other side before.
//!
//! Only objects that are marked are evicted, see [`evictable`](super::evictable), and none of them while it has an open
//! access: those first that were used the longest ago. It ends as soon as the allocation succeeds.
//!
//! Page-locked memory that runs out is no reason to evict: a block is pageable then, which costs less than to wait for
//! a context and to copy a side anew.

use super::Round;
use super::evictable::Eviction;
use super::reclaim_summary::{self, ReclaimSummary};
use crate::cuda;
use crate::error::{Cause, Error};
use crate::object::MARKED;
use crate::object::SyncedMemory;
use crate::object::trim;
use crate::observe::event::What;
use crate::observe::recorder::{self, Subject};
use crate::state::head::Side;
use crate::state::kind::Kind;

/// Makes room for the allocation for an object that failed with `error`, and tries it again each time there is some more. If there is
/// none for it at last, the error is the one that it began with.
#[cold]
#[inline(never)]
pub fn make_room<T>(error: Error, subject: Subject, allocate: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
    let Some(want) = Want::of(error) else { return refused(error, subject) };
    let mut summary =
        ReclaimSummary { idle: want.give_back_idle(), is_any_marked: !MARKED.is_empty(), ..Default::default() };
    if summary.idle > Some(0) {
        if let Ok(block) = allocate() {
            return Ok(block);
        }
    }
    if let Some(block) = evict(want, &mut summary, allocate) {
        return Ok(block);
    }
    reclaim_summary::keep(error, summary);
    refused(error, subject)
}

/// Tells that there is no memory at last.
fn refused<T>(error: Error, subject: Subject) -> Result<T, Error> {
    if let Error::OutOfMemory { side, asked, .. } = error {
        recorder::record(subject, || What::Failed { side, bytes: asked as u64 });
    }
    Err(error)
}

/// What is wanted.
#[derive(Clone, Copy)]
struct Want {
    side: Side,
    /// The kinds of memory that it may be: none if it is not the memory that is missing, but a limit that is met.
    kinds: &'static [Kind],
    /// The device whose memory it is to be.
    ordinal: Option<i32>,
    /// With less room than this the allocation need not be tried again.
    missing: usize,
}

impl Want {
    /// `None` if no room that there could be would do.
    fn of(error: Error) -> Option<Want> {
        let Error::OutOfMemory { side, asked, cause } = error else { return None };
        let want = Want { side, kinds: &[], ordinal: None, missing: 0 };
        match cause {
            Cause::Device { ordinal, free, total } => {
                let free = usize::try_from(free).unwrap_or(usize::MAX);
                // Of a device that could not be asked nothing is known.
                let missing = if total == 0 { 0 } else { asked.saturating_sub(free) };
                let want = Want { kinds: &[Kind::Device], ordinal: Some(ordinal), missing, ..want };
                (total == 0 || asked as u64 <= total).then_some(want)
            }
            Cause::Limit(limit) => (asked as u64 <= limit).then_some(want),
            Cause::System => Some(Want { kinds: &[Kind::Pageable, Kind::Pinned], ..want }),
            Cause::Absurd | Cause::Bookkeeping | Cause::PinnedLimit(_) => None,
        }
    }

    /// Gives back the idle blocks of those kinds, without a wait for another device, and says how many bytes that were.
    fn give_back_idle(&self) -> Option<u64> {
        self.kinds.iter().map(|&kind| trim::give_back_near(kind)).reduce(|sum, bytes| sum + bytes)
    }
}

/// Evicts one object after the other until `allocate` succeeds.
fn evict<T>(want: Want, summary: &mut ReclaimSummary, allocate: impl Fn() -> Result<T, Error>) -> Option<T> {
    let driver = cuda::driver_in_use().filter(|_| !MARKED.is_empty())?;
    let mut round = Round::new(driver, want.side, want.ordinal);
    let missing = want.missing.saturating_sub(summary.idle.unwrap_or(0) as usize);
    // Whatever is used from now on is in use.
    let until = MARKED.now();
    let mut evicted = 0;
    for how in [Eviction::Redundant, Eviction::Always] {
        let mut after = 0;
        while let Some(taken) = MARKED.take(want.side, how, after, until) {
            after = taken.last_use;
            let Some(bytes) = SyncedMemory::evict(&taken, how, &mut round) else { continue };
            drop(taken);
            let count = if how == Eviction::Always { &mut summary.newest } else { &mut summary.redundant };
            count.add(bytes);
            evicted += bytes;
            if evicted >= missing {
                // What was evicted may have become idle.
                want.give_back_idle();
                if let Ok(block) = allocate() {
                    return Some(block);
                }
            }
        }
    }
    if evicted == 0 || evicted >= missing {
        return None;
    }
    // Others may have given something back meanwhile.
    want.give_back_idle();
    allocate().ok()
}
