//! Sums of a process's events. The process counts for its own report, and the command counts what it reads in a recording.
//! The header of a recording keeps the [`Levels`] alone: its oldest records are overwritten, and a peak must not be lost.
//!
//! The counters are atomic words: threads and signal handlers count without a lock.

use std::fmt::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::event::{Event, Noticed, Origin, Path, What};
use syncedmem_core::head::{Access, Side};
use syncedmem_core::kind::Kind;
use syncedmem_core::text::{Duration, Size, Text};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub count: u64,
    pub bytes: u64,
    pub nanoseconds: u64,
}

impl Sum {
    pub fn add(&mut self, bytes: u64, nanoseconds: u64) {
        *self = self.plus(Sum { count: 1, bytes, nanoseconds });
    }

    pub fn plus(self, other: Sum) -> Sum {
        Sum {
            count: self.count + other.count,
            bytes: self.bytes.saturating_add(other.bytes),
            nanoseconds: self.nanoseconds.saturating_add(other.nanoseconds),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Bytes in blocks that objects hold.
    pub live: u64,
    pub peak: u64,
    /// Nanoseconds on the clock of the events.
    pub peak_time: u64,
    /// Blocks from the system or the driver.
    pub fresh: Sum,
    pub pooled: Sum,
    pub freed: Sum,
}

/// The bytes that objects hold now, by kind, their peaks, and the times of the peaks.
pub type Levels = [AtomicU64; 9];

const PEAK: usize = 3;
const PEAK_TIME: usize = 6;

/// Adds a block that was allocated, or subtracts one that was freed. Returns whether the kind reached a new peak.
#[inline]
pub fn take_level(levels: &Levels, event: &Event) -> bool {
    match event.what {
        What::Allocated { kind, bytes, .. } => {
            let live = levels[kind as usize].fetch_add(bytes, Relaxed).wrapping_add(bytes);
            raise_peak(levels, kind, live as i64, event.end())
        }
        What::Freed { kind, bytes, .. } => {
            levels[kind as usize].fetch_sub(bytes, Relaxed);
            false
        }
        _ => false,
    }
}

/// If several threads raise it at once, the highest wins; the time may be that of another.
fn raise_peak(levels: &Levels, kind: Kind, live: i64, time: u64) -> bool {
    let peak = &levels[PEAK + kind as usize];
    // Most blocks reach no peak, and a load is cheaper than a read-modify-write.
    let is_higher = live > peak.load(Relaxed) as i64 && peak.fetch_max(live as u64, Relaxed) < live as u64;
    if is_higher {
        levels[PEAK_TIME + kind as usize].store(time, Relaxed);
    }
    is_higher
}

// Places of the words. A sum has three: count, bytes, nanoseconds. By kind; by side, then by path or access.
const FRESH: usize = 0;
const POOLED: usize = FRESH + 3 * 3;
const FREED: usize = POOLED + 3 * 3;
const COPIES: usize = FREED + 3 * 3;
const FILLS: usize = COPIES + 3 * 4;
const FAILURES: usize = FILLS + 3 * 2;
const WAITS: usize = FAILURES + 3 * 2;
const SYNCHRONISED: usize = WAITS + 3;
const ACCESSES: usize = SYNCHRONISED + 3;
const MADE: usize = ACCESSES + 2 * 3;
const MADE_UNSEEN: usize = MADE + 1;
const ENDED: usize = MADE_UNSEEN + 1;
const WORDS: usize = ENDED + 1;

pub struct Counters {
    levels: Levels,
    words: [AtomicU64; WORDS],
}

impl Counters {
    pub const fn new() -> Counters {
        Counters { levels: [const { AtomicU64::new(0) }; 9], words: [const { AtomicU64::new(0) }; WORDS] }
    }

    /// Returns whether the kind's memory reached a new peak.
    #[inline]
    pub fn take(&self, event: &Event) -> bool {
        let count = |at: usize| self.words[at].fetch_add(1, Relaxed);
        let sum = |at: usize, bytes: u64| {
            count(at);
            self.words[at + 1].fetch_add(bytes, Relaxed);
            self.words[at + 2].fetch_add(event.duration, Relaxed);
        };
        match event.what {
            What::Made { noticed, .. } => {
                count(MADE);
                if noticed == Noticed::FirstAccess {
                    count(MADE_UNSEEN);
                }
            }
            What::Ended => _ = count(ENDED),
            What::Accessed { side, access, .. } => _ = count(accesses(side, access)),
            What::Allocated { kind, bytes, origin: Origin::Fresh, .. } => sum(FRESH + 3 * kind as usize, bytes),
            What::Allocated { kind, bytes, .. } => sum(POOLED + 3 * kind as usize, bytes),
            What::Freed { kind, bytes, .. } => sum(FREED + 3 * kind as usize, bytes),
            What::Filled { side, bytes } => sum(FILLS + 3 * side as usize, bytes),
            What::Copied { to, bytes, path, .. } | What::Started { to, bytes, path, .. } => {
                sum(copies(to, path), bytes)
            }
            What::Completed { .. } => sum(WAITS, 0),
            What::Synchronised => sum(SYNCHRONISED, 0),
            What::Failed { side, bytes, .. } => sum(FAILURES + 3 * side as usize, bytes),
            What::Resized { .. } | What::Lent { .. } | What::Released { .. } => {}
        }
        take_level(&self.levels, event)
    }

    pub fn account(&self) -> Account {
        let load = |word: &AtomicU64| word.load(Relaxed);
        Account { levels: self.levels.each_ref().map(load), words: self.words.each_ref().map(load) }
    }

    /// Bytes that objects hold, by kind.
    pub fn live(&self) -> [u64; 3] {
        Kind::ALL.map(|kind| (self.levels[kind as usize].load(Relaxed) as i64).max(0) as u64)
    }

    pub fn reset_peaks(&self, now: u64) {
        for kind in 0..3 {
            self.levels[PEAK + kind].store(self.levels[kind].load(Relaxed), Relaxed);
            self.levels[PEAK_TIME + kind].store(now, Relaxed);
        }
    }

    /// Takes over a peak from before the first event.
    pub fn raise_peak(&self, kind: Kind, peak: u64, time: u64) {
        raise_peak(&self.levels, kind, peak as i64, time);
    }

    /// Takes over blocks that were allocated or freed without an event.
    pub fn set_live(&self, kind: Kind, live: u64) {
        self.levels[kind as usize].store(live, Relaxed);
        self.raise_peak(kind, live, 0);
    }

    /// Subtracts a block that was freed without an event.
    pub fn lose(&self, kind: Kind, bytes: u64) {
        self.levels[kind as usize].fetch_sub(bytes, Relaxed);
    }

    /// Forgets all but the memory that objects hold: a forked child counts its own events.
    pub fn begin_child(&self) {
        self.words.iter().for_each(|word| word.store(0, Relaxed));
        self.reset_peaks(0);
    }
}

fn accesses(side: Side, access: Access) -> usize {
    ACCESSES + 3 * side as usize + access as usize
}

fn copies(to: Side, path: Path) -> usize {
    COPIES + 3 * (2 * to as usize + path as usize)
}

/// The counters at one moment. Words that other threads change meanwhile may be of different moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    levels: [u64; 9],
    words: [u64; WORDS],
}

impl Account {
    /// Replaces the bytes that objects hold, by kind, by those of a better source than the events.
    pub fn holding(mut self, live: [u64; 3]) -> Account {
        self.levels[..PEAK].copy_from_slice(&live);
        self
    }

    fn sum(&self, at: usize) -> Sum {
        Sum { count: self.words[at], bytes: self.words[at + 1], nanoseconds: self.words[at + 2] }
    }

    pub fn memory(&self, kind: Kind) -> Memory {
        let [word, sum] = [kind as usize, 3 * kind as usize];
        Memory {
            live: self.live(kind).max(0) as u64,
            peak: self.levels[PEAK + word],
            peak_time: self.levels[PEAK_TIME + word],
            fresh: self.sum(FRESH + sum),
            pooled: self.sum(POOLED + sum),
            freed: self.sum(FREED + sum),
        }
    }

    /// Bytes; negative if objects gave back blocks from before the first event.
    pub fn live(&self, kind: Kind) -> i64 {
        self.levels[kind as usize] as i64
    }

    pub fn made(&self) -> u64 {
        self.words[MADE]
    }

    /// Objects that were first seen at an access.
    pub fn made_unseen(&self) -> u64 {
        self.words[MADE_UNSEEN]
    }

    pub fn ended(&self) -> u64 {
        self.words[ENDED]
    }

    /// Waits for copies in flight.
    pub fn waits(&self) -> Sum {
        self.sum(WAITS)
    }

    /// Waits for a context before a block was handed out again.
    pub fn synchronised(&self) -> Sum {
        self.sum(SYNCHRONISED)
    }

    pub fn copies(&self, to: Side, path: Path) -> Sum {
        self.sum(copies(to, path))
    }

    pub fn copies_to(&self, to: Side) -> Sum {
        self.copies(to, Path::Pinned).plus(self.copies(to, Path::Pageable))
    }

    pub fn fills(&self, side: Side) -> Sum {
        self.sum(FILLS + 3 * side as usize)
    }

    /// Accesses that needed no work are not recorded.
    pub fn accesses(&self, side: Side, access: Access) -> u64 {
        self.words[accesses(side, access)]
    }

    pub fn failures(&self, side: Side) -> Sum {
        self.sum(FAILURES + 3 * side as usize)
    }

    /// The sums that are not zero.
    pub fn work(&self) -> impl Iterator<Item = (Work, Sum)> {
        let blocks = |kind| {
            let Memory { fresh, pooled, .. } = self.memory(kind);
            [(Work::Fresh(kind), fresh), (Work::Pooled(kind), pooled)]
        };
        let copies = |to| [Path::Pinned, Path::Pageable].map(|path| (Work::Copy(to, path), self.copies(to, path)));
        let sides = [Side::Host, Side::Device];
        let others = [(Work::Wait, self.waits()), (Work::Synchronisation, self.synchronised())];
        let all = Kind::ALL.into_iter().flat_map(blocks);
        let all = all.chain(sides.map(|side| (Work::Fill(side), self.fills(side))));
        let all = all.chain([Side::Device, Side::Host].into_iter().flat_map(copies)).chain(others);
        let all = all.chain(sides.map(|side| (Work::Failure(side), self.failures(side))));
        all.filter(|(_, sum)| sum.count > 0)
    }

    /// Writes lines about objects and about each kind of memory that was used.
    pub fn write_memory(&self, f: &mut impl Write) -> fmt::Result {
        writeln!(f, "objects made: {}, ended: {}", self.made(), self.ended())?;
        for kind in Kind::ALL {
            let Memory { peak, live, .. } = self.memory(kind);
            if peak > 0 {
                writeln!(f, "{} memory: {} at its peak, {} now", kind.name(), Size(peak), Size(live))?;
            }
        }
        Ok(())
    }

    /// Writes a table of the work.
    pub fn write_work(&self, f: &mut impl Write) -> fmt::Result {
        writeln!(f, "{:<44}{:>10}{:>12}{:>14}", "work, summed over threads", "times", "bytes", "time")?;
        self.work().try_for_each(|(work, Sum { count, bytes, nanoseconds })| {
            let work = Text::<80>::of(format_args!("{work}"));
            let bytes = if bytes == 0 { Text::new() } else { Text::<24>::of(format_args!("{}", Size(bytes))) };
            let time = match nanoseconds {
                0 => Text::<24>::of(format_args!("not measured")),
                time => Text::of(format_args!("{}", Duration(time))),
            };
            writeln!(f, "  {work:<42}{count:>10}{bytes:>12}{time:>14}")
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Blocks from the system or the driver.
    Fresh(Kind),
    Pooled(Kind),
    Fill(Side),
    /// Copies to this side.
    Copy(Side, Path),
    Wait,
    Synchronisation,
    Failure(Side),
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Work::Fresh(kind) => write!(f, "{} memory from the {}", kind.name(), kind.source()),
            Work::Pooled(kind) => write!(f, "{} memory from the pool", kind.name()),
            Work::Fill(side) => write!(f, "fill of the {} with zeros", side.name()),
            Work::Copy(to, path) => write!(f, "copy to the {}, {}", to.name(), path.name()),
            Work::Wait => f.write_str("wait for a copy in flight"),
            Work::Synchronisation => f.write_str("wait for all work of a context"),
            Work::Failure(side) => write!(f, "allocation for the {} that failed", side.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Site;

    fn event(start: u64, what: What) -> Event {
        Event { start, duration: 5, thread: 1, object: 2, site: Site::UNKNOWN, what }
    }

    fn allocated(start: u64, bytes: u64) -> Event {
        event(start, What::Allocated { kind: Kind::Pinned, bytes, block: 8, origin: Origin::Fresh })
    }

    #[test]
    fn blocks_from_before_the_first_event_make_the_live_bytes_negative_and_no_peak() {
        let counters = Counters::new();
        counters.take(&event(1, What::Freed { kind: Kind::Pinned, bytes: 100, block: 8 }));
        counters.take(&allocated(2, 30));
        let account = counters.account();
        assert_eq!((account.live(Kind::Pinned), account.memory(Kind::Pinned).peak), (-70, 0));
        assert_eq!(account.memory(Kind::Pinned).live, 0);
    }
}
