//! Room for an allocation that failed: idle blocks, then, on the device, the device sides of evictable objects that their host sides can
//! replace, in the order of their last use.

use syncedmem_trace::event::What;
use syncedmem_trace::head::Side;
use syncedmem_trace::kind::Kind;

use super::Round;
use super::reclaim_summary::{self, ReclaimSummary};
use super::refusal;
use super::uses;
use crate::cuda;
use crate::error::{Cause, Error};
use crate::object::{SyncedMemory, TABLE, trim};
use crate::observe::recorder::{self, Subject};

/// Makes room and retries an allocation that failed with `error`. The final error is the first one.
#[cold]
#[inline(never)]
pub fn make_room<T>(error: Error, subject: Subject, allocate: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
    if let Some(want) = Want::of(error) {
        let idle = want.trim();
        let mut summary = ReclaimSummary { idle, is_any_evictable: is_any_evictable(), ..Default::default() };
        let block = if idle > Some(0) { allocate().ok() } else { None };
        if let Some(block) = block.or_else(|| evict(want, &mut summary, allocate)) {
            return Ok(block);
        }
        reclaim_summary::keep(error, summary);
    }
    if let Error::OutOfMemory { side, asked, cause } = error {
        refusal::name_layers();
        recorder::record(subject, || {
            let (refusal, limit) = refusal::of(cause, asked);
            What::Failed { side, bytes: asked as u64, refusal, limit }
        });
    }
    Err(error)
}

#[derive(Clone, Copy)]
struct Want {
    /// The kinds of idle blocks that make room; none if a limit was met.
    kinds: &'static [Kind],
    /// The device whose memory is wanted; `None`: the host's.
    ordinal: Option<i32>,
    /// The allocation is retried once so many bytes were evicted.
    missing: usize,
}

impl Want {
    /// `None`: nothing that is given back helps.
    fn of(error: Error) -> Option<Want> {
        let Error::OutOfMemory { asked, cause, .. } = error else { return None };
        let want = Want { kinds: &[], ordinal: None, missing: 0 };
        match cause {
            Cause::Device { ordinal, free, total } => {
                let free = usize::try_from(free).unwrap_or(usize::MAX);
                // A total of 0: the driver did not answer.
                let missing = if total == 0 { 0 } else { asked.saturating_sub(free) };
                let want = Want { kinds: &[Kind::Device], ordinal: Some(ordinal), missing };
                (total == 0 || asked as u64 <= total).then_some(want)
            }
            Cause::Limit(limit) => (asked as u64 <= limit).then_some(want),
            Cause::System | Cause::Allocator => Some(Want { kinds: &[Kind::Pageable, Kind::Pinned], ..want }),
            Cause::Absurd | Cause::Misaligned | Cause::Bookkeeping | Cause::PinnedLimit(_) => None,
        }
    }

    /// Gives back idle blocks and returns their bytes; `None` without kinds.
    fn trim(&self) -> Option<u64> {
        self.kinds.iter().map(|&kind| trim::trim_current_device(kind)).reduce(|sum, bytes| sum + bytes)
    }
}

fn is_any_evictable() -> bool {
    TABLE.lowest(|entry| entry.uses.map(|uses| uses.last_use)).is_some()
}

/// Of the objects with a device block and no open access, last used after `after` and not after `until`: the last use and the address.
fn least_recently_used(after: u64, until: u64) -> Option<(u64, usize)> {
    TABLE.lowest(|entry| {
        let uses = entry.uses.filter(|uses| uses.is_unused() && entry.has_block(Side::Device))?;
        Some(uses.last_use).filter(|&last_use| last_use > after && last_use <= until)
    })
}

fn evict<T>(want: Want, summary: &mut ReclaimSummary, allocate: impl Fn() -> Result<T, Error>) -> Option<T> {
    let driver = cuda::driver_in_use().filter(|_| is_any_evictable())?;
    let mut round = Round::new(driver, want.ordinal?);
    let missing = want.missing.saturating_sub(summary.idle.unwrap_or(0) as usize);
    // Objects used later are in use.
    let until = uses::now();
    let (mut after, mut evicted) = (0, 0);
    while let Some((last_use, object)) = least_recently_used(after, until) {
        after = last_use;
        let Some(bytes) = SyncedMemory::evict(object, last_use, &mut round) else { continue };
        summary.evicted.add(bytes);
        evicted += bytes;
        if evicted >= missing {
            // The evicted block may have become idle.
            want.trim();
            if let Ok(block) = allocate() {
                return Some(block);
            }
        }
    }
    if evicted == 0 || evicted >= missing {
        return None;
    }
    // Other threads may have given memory back meanwhile.
    want.trim();
    allocate().ok()
}
