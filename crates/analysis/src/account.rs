//! Sums of a process's events.

use std::fmt::{self, Arguments};

use syncedmem_trace::event::{Event, Noticed, Origin, Path, What};
use syncedmem_trace::head::{Access, Side};
use syncedmem_trace::kind::Kind;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub count: u64,
    pub bytes: u64,
    pub nanoseconds: u64,
}

impl Sum {
    pub fn add(&mut self, bytes: u64, nanoseconds: u64) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.nanoseconds = self.nanoseconds.saturating_add(nanoseconds);
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
    /// On the events' clock.
    pub peak_time: u64,
    /// Blocks from the system or the driver.
    pub fresh: Sum,
    pub pooled: Sum,
    pub freed: Sum,
    /// Blocks that a budget turned away: not kept for reuse, or not page-locked.
    pub turned_away: Sum,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    // By kind; by side, then by the number of what their getters take.
    memory: [Memory; 3],
    copies: [[Sum; 2]; 2],
    fills: [Sum; 2],
    evictions: [[Sum; 2]; 2],
    accesses: [[u64; 3]; 2],
    failures: [Sum; 2],
    /// For copies in flight.
    pub waits: Sum,
    /// Waits for a context before a block was handed out again, evicted, or unlocked.
    pub synchronised: Sum,
    /// Pageable memory, page-locked where it is.
    pub registered: Sum,
    pub made: u64,
    /// Of these, first seen at an access.
    pub made_unseen: u64,
    pub ended: u64,
}

impl Account {
    pub const NEW: Account = {
        const NONE: Sum = Sum { count: 0, bytes: 0, nanoseconds: 0 };
        const EMPTY: Memory =
            Memory { live: 0, peak: 0, peak_time: 0, fresh: NONE, pooled: NONE, freed: NONE, turned_away: NONE };
        Account {
            memory: [EMPTY; 3],
            copies: [[NONE; 2]; 2],
            fills: [NONE; 2],
            evictions: [[NONE; 2]; 2],
            accesses: [[0; 3]; 2],
            failures: [NONE; 2],
            waits: NONE,
            synchronised: NONE,
            registered: NONE,
            made: 0,
            made_unseen: 0,
            ended: 0,
        }
    };

    pub fn reset_peaks(&mut self, now: u64) {
        for memory in &mut self.memory {
            (memory.peak, memory.peak_time) = (memory.live, now);
        }
    }

    /// For a peak from before the first event.
    pub fn raise_peak(&mut self, kind: Kind, peak: u64, time: u64) {
        let memory = &mut self.memory[kind as usize];
        if peak > memory.peak {
            (memory.peak, memory.peak_time) = (peak, time);
        }
    }

    pub fn take(&mut self, event: &Event) {
        let nanoseconds = event.duration;
        match event.what {
            What::Made { noticed, .. } => self.make(noticed),
            What::Ended => self.ended += 1,
            What::Accessed { side, access, .. } => self.access(side, access),
            What::Allocated { kind, bytes, origin, .. } => {
                self.allocate(kind, bytes, origin, nanoseconds, event.end());
            }
            What::Freed { kind, bytes, .. } => self.give_back(kind, bytes),
            What::Filled { side, bytes } => self.fill(side, bytes, nanoseconds),
            What::Copied { to, bytes, path, .. } | What::Started { to, bytes, path, .. } => {
                self.copies[to as usize][path as usize].add(bytes, nanoseconds);
            }
            What::Completed { .. } => self.waits.add(0, nanoseconds),
            What::Evicted { side, bytes, newest } => {
                self.evictions[side as usize][usize::from(newest)].add(bytes, nanoseconds);
            }
            What::Registered { bytes } => self.registered.add(bytes, nanoseconds),
            What::Synchronised => self.synchronised.add(0, nanoseconds),
            What::TurnedAway { kind, bytes } => self.memory[kind as usize].turned_away.add(bytes, nanoseconds),
            What::Failed { side, bytes, .. } => self.failures[side as usize].add(bytes, nanoseconds),
            What::Resized { .. } | What::Compared { .. } | What::Lent { .. } | What::Released { .. } => {}
        }
    }

    #[inline]
    pub fn make(&mut self, noticed: Noticed) {
        self.made += 1;
        self.made_unseen += u64::from(noticed == Noticed::FirstAccess);
    }

    #[inline]
    pub fn access(&mut self, side: Side, access: Access) {
        self.accesses[side as usize][access as usize] += 1;
    }

    /// Returns whether this is a new peak.
    #[inline]
    pub fn allocate(&mut self, kind: Kind, bytes: u64, origin: Origin, nanoseconds: u64, end: u64) -> bool {
        let memory = &mut self.memory[kind as usize];
        match origin {
            Origin::Fresh => memory.fresh.add(bytes, nanoseconds),
            Origin::Pool => memory.pooled.add(bytes, nanoseconds),
        }
        memory.live = memory.live.saturating_add(bytes);
        let is_peak = memory.live > memory.peak;
        if is_peak {
            (memory.peak, memory.peak_time) = (memory.live, end);
        }
        is_peak
    }

    #[inline]
    pub fn fill(&mut self, side: Side, bytes: u64, nanoseconds: u64) {
        self.fills[side as usize].add(bytes, nanoseconds);
    }

    #[inline]
    pub fn give_back(&mut self, kind: Kind, bytes: u64) {
        let memory = &mut self.memory[kind as usize];
        memory.freed.add(bytes, 0);
        memory.live = memory.live.saturating_sub(bytes);
    }

    /// For a block that was freed without a call to this library.
    pub fn lose(&mut self, kind: Kind, bytes: u64) {
        let live = &mut self.memory[kind as usize].live;
        *live = live.saturating_sub(bytes);
    }

    pub fn memory(&self, kind: Kind) -> &Memory {
        &self.memory[kind as usize]
    }

    pub fn copies(&self, to: Side, path: Path) -> Sum {
        self.copies[to as usize][path as usize]
    }

    pub fn copies_to(&self, to: Side) -> Sum {
        self.copies[to as usize].iter().fold(Sum::default(), |sum, &path| sum.plus(path))
    }

    pub fn fills(&self, side: Side) -> Sum {
        self.fills[side as usize]
    }

    /// Of the newest data, or of a side that the other one can replace.
    pub fn evictions(&self, side: Side, newest: bool) -> Sum {
        self.evictions[side as usize][usize::from(newest)]
    }

    /// Complete only while every access is recorded.
    pub fn accesses(&self, side: Side, access: Access) -> u64 {
        self.accesses[side as usize][access as usize]
    }

    pub fn failures(&self, side: Side) -> Sum {
        self.failures[side as usize]
    }

    /// `show` gets each sum that is not zero, with words for it.
    pub fn work(&self, mut show: impl FnMut(Arguments<'_>, Sum) -> fmt::Result) -> fmt::Result {
        let mut each = |what: Arguments<'_>, sum: Sum| if sum.count > 0 { show(what, sum) } else { Ok(()) };
        for kind in Kind::ALL {
            let memory = self.memory(kind);
            each(format_args!("{} memory from the {}", kind.name(), kind.source()), memory.fresh)?;
            each(format_args!("{} memory from the pool", kind.name()), memory.pooled)?;
            each(format_args!("{} memory turned away by a budget", kind.name()), memory.turned_away)?;
        }
        for side in [Side::Host, Side::Device] {
            each(format_args!("fill of the {} with zeros", side.name()), self.fills(side))?;
        }
        for to in [Side::Device, Side::Host] {
            for path in [Path::Pinned, Path::Pageable] {
                each(format_args!("copy to the {}, {}", to.name(), path.name()), self.copies(to, path))?;
            }
        }
        each(format_args!("wait for a copy in flight"), self.waits)?;
        each(format_args!("wait for all work of a context"), self.synchronised)?;
        each(format_args!("memory page-locked where it was"), self.registered)?;
        for side in [Side::Host, Side::Device] {
            for (newest, what) in [(false, "redundant"), (true, "newest")] {
                let sum = self.evictions(side, newest);
                each(format_args!("{} side given back for room, {what}", side.name()), sum)?;
            }
            each(format_args!("allocation for the {} that failed", side.name()), self.failures(side))?;
        }
        Ok(())
    }
}
