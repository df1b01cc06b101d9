//! Room for an allocation that found none, taken from what is not in use, the cheapest first:
//!
//! 1. idle blocks of every kind, which no object holds;
//! 2. sides of objects that the other side can replace: nothing is lost but time;
//! 3. sides that hold the newest data, which is copied to the other side before.
//!
//! Only objects that are marked are evicted, see [`evictable`](super::evictable), and none of them while it has an open
//! access: those first that were used the longest ago. It ends as soon as the allocation succeeds.
//!
//! Page-locked memory that runs out is no reason to evict: a block is pageable then, which costs less than to wait for
//! a context and to copy a side anew.

use super::MARKED;
use super::SyncedMemory;
use super::evictable::Eviction;
use super::eviction::Round;
use crate::cuda;
use crate::error::{Cause, Error};
use crate::given_back::{self, Count, GivenBack};
use crate::head::Side;

/// Makes room for the allocation that failed with `error`, and tries it again each time there is some more. If there is
/// none for it at last, the error is the one that it began with.
#[cold]
#[inline(never)]
pub fn make_room<T>(error: Error, allocate: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
    let Some(want) = Want::of(error) else { return Err(error) };
    let mut given = GivenBack { idle: give_back_idle(), is_any_marked: !MARKED.is_empty(), ..GivenBack::default() };
    if given.idle.number > 0 {
        if let Ok(block) = allocate() {
            return Ok(block);
        }
    }
    if let Some(block) = evict(want, &mut given, allocate) {
        return Ok(block);
    }
    given_back::keep(error, given);
    Err(error)
}

/// What is wanted.
#[derive(Clone, Copy)]
struct Want {
    side: Side,
    /// The device whose memory it is to be.
    ordinal: Option<i32>,
    /// With less room than this the allocation need not be tried again.
    missing: usize,
}

impl Want {
    /// `None` if no room that there could be would do.
    fn of(error: Error) -> Option<Want> {
        let Error::OutOfMemory { side, asked, cause } = error else { return None };
        match cause {
            Cause::Device { ordinal, total: 0, .. } => Some(Want { side, ordinal: Some(ordinal), missing: 0 }),
            Cause::Device { ordinal, free, total } => {
                let missing = asked.saturating_sub(usize::try_from(free).unwrap_or(usize::MAX));
                (asked as u64 <= total).then_some(Want { side, ordinal: Some(ordinal), missing })
            }
            Cause::Limit(limit) => (asked as u64 <= limit).then_some(Want { side, ordinal: None, missing: 0 }),
            Cause::System => Some(Want { side, ordinal: None, missing: 0 }),
            Cause::Absurd | Cause::Bookkeeping => None,
        }
    }
}

/// Evicts one object after the other until `allocate` succeeds.
fn evict<T>(want: Want, given: &mut GivenBack, allocate: impl Fn() -> Result<T, Error>) -> Option<T> {
    let driver = cuda::driver_in_use().filter(|_| !MARKED.is_empty())?;
    let mut round = Round::new(driver, want.side, want.ordinal);
    // Whatever is used from now on is in use.
    let until = MARKED.now();
    let mut untried = 0;
    for how in [Eviction::Redundant, Eviction::Always] {
        let mut after = 0;
        while let Some(taken) = MARKED.take(want.side, how, after, until) {
            after = taken.last_use;
            let Some(bytes) = SyncedMemory::evict(&taken, how, &mut round) else { continue };
            drop(taken);
            let count = if how == Eviction::Always { &mut given.newest } else { &mut given.redundant };
            count.add(bytes);
            untried += bytes;
            if given.bytes() >= want.missing {
                untried = 0;
                if let Ok(block) = allocate() {
                    return Some(block);
                }
            }
        }
    }
    // Others may have given something back meanwhile.
    if untried > 0 { allocate().ok() } else { None }
}

/// Gives back every idle block.
fn give_back_idle() -> Count {
    Count::default()
}
