//! A record: one event, or a note about an object or a thread, in eight words. The codes are in `parts` and below.
//!
//! The tag is cleared first and stored last, so a half-written record has no tag, or that of another lap.

use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};

use crate::event::{Cause, Event, Noticed, Origin, Pass, PassKind, Path, Refusal, Site, What};
use syncedmem_core::head::{Access, Side};
use syncedmem_core::kind::Kind;

pub type Slot = [AtomicU64; 8];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    Event {
        event: Event,
        /// The object's bytes are in each record: the writer does not know whether it has recorded the object before.
        object_bytes: u64,
    },
    /// The object has a name from now on.
    Named {
        time: u64,
        thread: u32,
        object: u64,
        object_bytes: u64,
        /// The place of the name in the text area.
        text: u32,
    },
    /// The object holds a number of items of a batch from now on; 0: not known.
    Items {
        time: u64,
        thread: u32,
        object: u64,
        object_bytes: u64,
        items: u64,
    },
    Pass(Pass),
    /// The thread executes a layer from now on. The note about the net has the number.
    Step {
        time: u64,
        thread: u32,
        step: u64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRecord {
    /// The record is unfinished, or of another lap.
    Unfinished,
    Unknown,
}

// Codes of notes. Those of events are smaller.
const NAMED: u8 = 32;
const ITEMS: u8 = 34;
const PASS: u8 = 35;
const STEP: u8 = 36;

/// The code, the parameters, the bytes and the last word.
type Parts = (u8, [u8; 3], u64, u64);

const SIDES: [Side; 2] = [Side::Host, Side::Device];
const ACCESSES: [Access; 3] = [Access::Read, Access::Write, Access::Overwrite];
const NOTICED: [Noticed; 2] = [Noticed::Construction, Noticed::FirstAccess];
const ORIGINS: [Origin; 3] = [Origin::Fresh, Origin::Pool, Origin::Arena];
const PATHS: [Path; 2] = [Path::Pinned, Path::Pageable];
const CAUSES: [Cause; 4] =
    [Cause::Access(Access::Read), Cause::Access(Access::Write), Cause::Access(Access::Overwrite), Cause::Stream];

fn cause(cause: Cause) -> u8 {
    match cause {
        Cause::Access(access) => access as u8,
        Cause::Stream => 3,
    }
}

#[inline]
fn parts(what: &What) -> Parts {
    match *what {
        What::Made { bytes, noticed } => (1, [noticed as u8, 0, 0], bytes, 0),
        What::Ended => (2, [0; 3], 0, 0),
        What::Resized { bytes } => (3, [0; 3], bytes, 0),
        What::Accessed { side, access } => (4, [side as u8, access as u8, 0], 0, 0),
        What::Allocated { kind, bytes, block, origin } => (5, [kind as u8, origin as u8, 0], bytes, block),
        What::Freed { kind, bytes, block } => (6, [kind as u8, 0, 0], bytes, block),
        What::Filled { side, bytes } => (7, [side as u8, 0, 0], bytes, 0),
        What::Copied { to, bytes, path, cause: why } => (8, [to as u8, path as u8, cause(why)], bytes, 0),
        What::Started { to, bytes, path, copy } => (9, [to as u8, path as u8, 0], bytes, copy),
        What::Completed { to, copy } => (10, [to as u8, 0, 0], 0, copy),
        What::Lent { side } => (11, [side as u8, 0, 0], 0, 0),
        What::Released { side } => (12, [side as u8, 0, 0], 0, 0),
        // 13 and 14 were events of earlier builds.
        What::Synchronised => (15, [0; 3], 0, 0),
        What::Failed { side, bytes, refusal, limit } => (16, [side as u8, refusal as u8, 0], bytes, limit),
    }
}

/// Returns `None` for an event that this version does not know.
fn what((code, parameters, bytes, last): Parts) -> Option<What> {
    let [a, b, c] = parameters;
    fn of<V: Copy, const N: usize>(values: [V; N], number: u8) -> Option<V> {
        values.get(usize::from(number)).copied()
    }
    let kind = || of(Kind::ALL, a);
    let side = || of(SIDES, a);
    Some(match code {
        1 => What::Made { bytes, noticed: of(NOTICED, a)? },
        2 => What::Ended,
        3 => What::Resized { bytes },
        4 => What::Accessed { side: side()?, access: of(ACCESSES, b)? },
        5 => What::Allocated { kind: kind()?, bytes, block: last, origin: of(ORIGINS, b)? },
        6 => What::Freed { kind: kind()?, bytes, block: last },
        7 => What::Filled { side: side()?, bytes },
        8 => What::Copied { to: side()?, bytes, path: of(PATHS, b)?, cause: of(CAUSES, c)? },
        9 => What::Started { to: side()?, bytes, path: of(PATHS, b)?, copy: last },
        10 => What::Completed { to: side()?, copy: last },
        11 => What::Lent { side: side()? },
        12 => What::Released { side: side()? },
        15 => What::Synchronised,
        16 => What::Failed { side: side()?, bytes, refusal: of(Refusal::ALL, b)?, limit: last },
        _ => return None,
    })
}

impl Record {
    #[inline]
    pub fn write(&self, slot: &Slot, lap: u32) {
        let (parts, head) = match *self {
            Record::Event { event, object_bytes } => {
                let Event { start, duration, thread, object, site, what } = event;
                (parts(&what), [start, duration, object, object_bytes, halves(thread, site.0)])
            }
            Record::Named { time, thread, object, object_bytes, text } => {
                ((NAMED, [0; 3], 0, text.into()), [time, 0, object, object_bytes, halves(thread, 0)])
            }
            Record::Items { time, thread, object, object_bytes, items } => {
                ((ITEMS, [0; 3], 0, items), [time, 0, object, object_bytes, halves(thread, 0)])
            }
            // The iteration is stored plus 1; 0: none.
            Record::Pass(Pass { start, duration, thread, kind, iteration }) => (
                (PASS, [kind as u8, 0, 0], 0, iteration.map_or(0, |iteration| iteration.wrapping_add(1))),
                [start, duration, 0, 0, halves(thread, 0)],
            ),
            Record::Step { time, thread, step } => ((STEP, [0; 3], 0, step), [time, 0, 0, 0, halves(thread, 0)]),
        };
        let (code, [a, b, c], bytes, last) = parts;
        let [tag, rest @ ..] = slot;
        tag.store(0, Relaxed);
        // Release: the cleared tag comes before the new words.
        fence(Release);
        for (word, value) in rest.iter().zip(head.into_iter().chain([bytes, last])) {
            word.store(value, Relaxed);
        }
        // Release: the tag comes after all words.
        tag.store(u64::from(u32::from_le_bytes([code, a, b, c])) | u64::from(lap.wrapping_add(1)) << 32, Release);
    }

    /// Reads a record of a lap.
    pub fn read(bytes: &[u8; super::RECORD as usize], lap: u32) -> Result<Record, NoRecord> {
        let [tag, time, duration, object, object_bytes, halves, bytes, last] = super::words(bytes);
        if (tag >> 32) as u32 != lap.wrapping_add(1) {
            return Err(NoRecord::Unfinished);
        }
        let [code, parameters @ ..] = (tag as u32).to_le_bytes();
        let (thread, site) = (halves as u32, Site((halves >> 32) as u32));
        Ok(match code {
            NAMED => Record::Named { time, thread, object, object_bytes, text: last as u32 },
            ITEMS => Record::Items { time, thread, object, object_bytes, items: last },
            PASS => {
                let kind = *PassKind::ALL.get(usize::from(parameters[0])).ok_or(NoRecord::Unknown)?;
                Record::Pass(Pass { start: time, duration, thread, kind, iteration: last.checked_sub(1) })
            }
            STEP => Record::Step { time, thread, step: last },
            _ => {
                let what = what((code, parameters, bytes, last)).ok_or(NoRecord::Unknown)?;
                Record::Event { event: Event { start: time, duration, thread, object, site, what }, object_bytes }
            }
        })
    }
}

fn halves(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot() -> Slot {
        [const { AtomicU64::new(0) }; 8]
    }

    fn bytes(slot: &Slot) -> [u8; 64] {
        let mut bytes = [0; 64];
        for (bytes, word) in bytes.chunks_exact_mut(8).zip(slot) {
            bytes.copy_from_slice(&word.load(Relaxed).to_le_bytes());
        }
        bytes
    }

    #[test]
    fn a_record_of_another_lap_and_a_half_written_one_are_refused() {
        let slot = slot();
        assert_eq!(Record::read(&bytes(&slot), 0), Err(NoRecord::Unfinished));
        let record = Record::Step { time: 1, thread: 1, step: 1 };
        record.write(&slot, 3);
        assert_eq!(Record::read(&bytes(&slot), 2), Err(NoRecord::Unfinished));
        assert_eq!(Record::read(&bytes(&slot), 4), Err(NoRecord::Unfinished));
        let [tag, ..] = &slot;
        tag.store(0, Relaxed);
        assert_eq!(Record::read(&bytes(&slot), 3), Err(NoRecord::Unfinished));
    }

    #[test]
    fn codes_and_parameters_of_a_newer_library_are_unknown() {
        let slot = slot();
        for (code, parameter) in [(0, 0), (17, 0), (255, 0), (1, 2), (4, 2), (5, 3), (PASS, 4)] {
            let tag = u64::from(u32::from_le_bytes([code, parameter, 0, 0])) | 1 << 32;
            slot[0].store(tag, Relaxed);
            assert_eq!(Record::read(&bytes(&slot), 0), Err(NoRecord::Unknown), "code {code}, parameter {parameter}");
        }
    }
}
