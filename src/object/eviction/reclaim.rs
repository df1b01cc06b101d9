//! Room for an allocation that failed: idle blocks, then, on the device, the device sides of evictable objects that their host sides can
//! replace, in the order of their last use.

use syncedmem_trace::event::What;
use syncedmem_trace::head::Side;
use syncedmem_trace::kind::Kind;

use super::Round;
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
    let Error::OutOfMemory { side, asked, cause } = error else { return Err(error) };
    if may_help(asked, cause) {
        let block = if trim(cause) > 0 { allocate().ok() } else { None };
        if let Some(block) = block.or_else(|| evict(cause, allocate)) {
            return Ok(block);
        }
    }
    refusal::name_layers();
    recorder::record(subject, || {
        let (refusal, limit) = refusal::of(cause, asked);
        What::Failed { side, bytes: asked as u64, refusal, limit }
    });
    Err(error)
}

/// Whether memory that is given back can help.
pub fn may_help(asked: usize, cause: Cause) -> bool {
    match cause {
        // A total of 0: the driver did not answer.
        Cause::Device { total, .. } => total == 0 || asked as u64 <= total,
        Cause::Limit(limit) => asked as u64 <= limit,
        Cause::System | Cause::Allocator => true,
        Cause::Absurd | Cause::Misaligned | Cause::Bookkeeping | Cause::PinnedLimit(_) => false,
    }
}

/// Gives back idle blocks and returns their bytes. Under a limit, which counts them, `host::allocate` has done so.
fn trim(cause: Cause) -> u64 {
    let kinds: &[Kind] = match cause {
        Cause::Device { .. } => &[Kind::Device],
        Cause::System | Cause::Allocator => &[Kind::Pageable, Kind::Pinned],
        _ => &[],
    };
    kinds.iter().map(|&kind| trim::trim_current_device(kind)).sum()
}

pub fn is_any_evictable() -> bool {
    TABLE.lowest(|entry| entry.uses.map(|uses| uses.last_use)).is_some()
}

/// Of the objects with a device block and no open access, last used after `after` and not after `until`: the last use and the address.
fn least_recently_used(after: u64, until: u64) -> Option<(u64, usize)> {
    TABLE.lowest(|entry| {
        let uses = entry.uses.filter(|uses| uses.is_unused() && entry.has_block(Side::Device))?;
        Some(uses.last_use).filter(|&last_use| last_use > after && last_use <= until)
    })
}

fn evict<T>(cause: Cause, allocate: impl Fn() -> Result<T, Error>) -> Option<T> {
    let Cause::Device { ordinal, .. } = cause else { return None };
    let mut round = Round::new(cuda::driver_in_use()?, ordinal);
    // Objects used later are in use.
    let until = uses::now();
    let mut after = 0;
    while let Some((last_use, object)) = least_recently_used(after, until) {
        after = last_use;
        if SyncedMemory::evict(object, last_use, &mut round) {
            // The evicted block may have become idle.
            trim(cause);
            if let Ok(block) = allocate() {
                return Some(block);
            }
        }
    }
    None
}
