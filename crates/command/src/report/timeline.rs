//! Memory and copies over time, in a bounded number of columns. One pass takes any number of events, and no peak is lost.
//!
//! Each column also knows who held the memory of a kind when that was first greatest in the column: the values of all owners
//! add up to that maximum. The timeline numbers these moments (*samples*, by kind). The values of an owner are steps: the
//! number of a sample, and the bytes from there on. So a joined column keeps one of two samples, without a look at the owners.

use std::collections::HashMap;

use syncedmem_core::head::Side;
use syncedmem_core::kind::Kind;
use syncedmem_trace::account::Sum;
use syncedmem_trace::event::{Event, Pass, PassKind, Site, What};
use syncedmem_trace_reader::ledger::{Holder, Object};

/// Number of columns: a wide screen has no more pixels.
const COLUMNS: usize = 1024;

#[derive(Clone, Debug, Default)]
pub struct Timeline {
    origin: Option<u64>,
    last: u64,
    /// Binary logarithm of the nanoseconds of a column.
    exponent: u32,
    columns: Vec<Column>,
    now: [u64; 3],
    /// The numbers of the last samples, by kind. A new one begins with a column, and when a column has a new maximum.
    samples: [u64; 3],
    held: Held,
    passes: [Sum; 4],
}

impl Timeline {
    /// Takes the next event. Events are ordered by their ends. `live` (bytes, by kind) and `object` are the state after the event.
    pub fn take(&mut self, event: &Event, live: [u64; 3], object: Option<&Object>) {
        let end = event.end();
        let (origin, here) = self.reach(event.start, end);
        if let What::Made { .. } | What::Allocated { .. } | What::Freed { .. } | What::Ended = event.what {
            self.name(event.object, object);
        }
        let column = &mut self.columns[here];
        for (kind, bytes) in live.into_iter().enumerate() {
            column.least[kind] = column.least[kind].min(bytes);
            if bytes > column.most[kind] {
                self.samples[kind] += 1;
                (column.most[kind], column.samples[kind]) = (bytes, self.samples[kind]);
            }
        }
        self.now = live;
        if let What::Copied { to, bytes, .. } | What::Started { to, bytes, .. } = event.what {
            let to = usize::from(to == Side::Device);
            self.share_out(bytes, event.start.max(origin), end.max(origin), |column| &mut column.copied[to]);
        }
    }

    /// Takes the next pass, ordered among the events by its end.
    pub fn pass(&mut self, pass: &Pass) {
        let (kind, end) = (pass.kind as usize, pass.start.saturating_add(pass.duration));
        let (origin, _) = self.reach(pass.start, end);
        let (start, end) = (pass.start.max(origin), end.max(origin));
        self.passes[kind].add(0, pass.duration);
        self.share_out(end - start, start, end, |column| &mut column.passes[kind]);
    }

    pub fn passes(&self, kind: PassKind) -> Sum {
        self.passes[kind as usize]
    }

    /// Extends the timeline to `end`. Returns its origin, and the index of the last column.
    fn reach(&mut self, start: u64, end: u64) -> (u64, usize) {
        let origin = *self.origin.get_or_insert(start);
        self.last = self.last.max(end).max(origin);
        (origin, self.column_at(self.last))
    }

    /// Returns the column of a time that is not before the last one. Fills the columns up to it.
    fn column_at(&mut self, time: u64) -> usize {
        let since = time - self.origin.unwrap_or(time);
        while since >> self.exponent >= COLUMNS as u64 {
            self.columns = pairs(&self.columns);
            self.exponent += 1;
        }
        let column = (since >> self.exponent) as usize;
        if self.columns.len() <= column {
            self.samples = self.samples.map(|sample| sample + 1);
            let level = Column { least: self.now, most: self.now, samples: self.samples, ..Column::default() };
            self.columns.resize(column + 1, level);
        }
        column
    }

    pub fn name(&mut self, address: u64, object: Option<&Object>) {
        self.held.follow(address, object, self.samples, &self.columns);
    }

    /// Returns who held what. Called once, after the last event.
    pub fn owners(&mut self) -> impl Iterator<Item = (Owner, [Steps; 3])> + use<> {
        std::mem::take(&mut self.held).finish(self.samples)
    }

    fn share_out(&mut self, amount: u64, start: u64, end: u64, of: impl Fn(&mut Column) -> &mut u64) {
        let origin = self.origin.unwrap_or(start);
        let (start, end) = (start - origin, end - origin);
        let (width, first, last) = (1 << self.exponent, start >> self.exponent, end >> self.exponent);
        let add = |sum: &mut u64, share| *sum = sum.saturating_add(share);
        let mut left = amount;
        for column in first..last {
            let until = (column + 1) * width;
            let share =
                u128::from(amount) * u128::from(until - start.max(column * width)) / u128::from((end - start).max(1));
            let share = left.min(share as u64);
            add(of(&mut self.columns[column as usize]), share);
            left -= share;
        }
        add(of(&mut self.columns[last as usize]), left);
    }

    /// Nanoseconds from the first start to the last end.
    pub fn span(&self) -> u64 {
        self.last - self.origin.unwrap_or(self.last)
    }

    /// Nanoseconds from the first start.
    pub fn since_begin(&self, time: u64) -> u64 {
        time.saturating_sub(self.origin.unwrap_or(time))
    }

    /// Returns at most `at_most` columns, and the width of one in nanoseconds.
    pub fn in_columns(&self, at_most: usize) -> (Vec<Column>, u64) {
        let (mut columns, mut width) = (self.columns.clone(), 1 << self.exponent);
        while columns.len() > at_most.max(1) {
            columns = pairs(&columns);
            width *= 2;
        }
        (columns, width)
    }
}

fn pairs(columns: &[Column]) -> Vec<Column> {
    columns.chunks(2).map(|pair| pair.iter().copied().reduce(Column::with).unwrap_or_default()).collect()
}

/// Number of steps of an owner after which those that no column shows are dropped.
const STEPS: usize = 4096;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// Bytes that objects held, by kind. So are `most` and `samples`.
    pub least: [u64; 3],
    pub most: [u64; 3],
    /// The moment at which `most` was first held.
    pub samples: [u64; 3],
    /// Bytes copied to the host and to the device.
    pub copied: [u64; 2],
    /// Nanoseconds in passes, by kind of pass, summed over threads.
    pub passes: [u64; 4],
}

impl Column {
    pub fn with(self, next: Column) -> Column {
        let mut both = self;
        for kind in 0..3 {
            both.least[kind] = both.least[kind].min(next.least[kind]);
            if next.most[kind] > both.most[kind] {
                (both.most[kind], both.samples[kind]) = (next.most[kind], next.samples[kind]);
            }
        }
        for to in 0..2 {
            both.copied[to] = both.copied[to].saturating_add(next.copied[to]);
        }
        for kind in 0..4 {
            both.passes[kind] = both.passes[kind].saturating_add(next.passes[kind]);
        }
        both
    }
}

/// Objects of one holder that one call site made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Owner {
    pub holder: Holder,
    pub made: Site,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HeldBlock {
    owner: Owner,
    kind: Kind,
    bytes: u64,
    address: u64,
    /// The last sample before its allocation.
    after: u64,
}

/// The memory of one kind that an owner held over time.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    now: u64,
    /// The last sample that is in `steps`.
    seen: u64,
    /// Samples and bytes, sorted by sample. Before the first one nothing is held.
    steps: Vec<(u64, u64)>,
}

impl Steps {
    /// Adds the samples since the last change. Called before each change.
    fn catch_up(&mut self, samples: u64) {
        if self.seen < samples {
            if self.steps.last().map_or(0, |step| step.1) != self.now {
                self.steps.push((self.seen + 1, self.now));
            }
            self.seen = samples;
        }
    }

    fn change_from(&mut self, first: u64, change: impl Fn(u64) -> u64) {
        let at = self.steps.partition_point(|step| step.0 < first);
        if self.steps.get(at).is_none_or(|step| step.0 != first) {
            self.steps.insert(at, (first, self.at(first)));
        }
        self.steps[at..].iter_mut().for_each(|step| step.1 = change(step.1));
    }

    pub fn at(&self, sample: u64) -> u64 {
        let next = self.steps.partition_point(|step| step.0 <= sample);
        if next == 0 { 0 } else { self.steps[next - 1].1 }
    }

    /// `None` if nothing was ever held.
    pub fn in_columns(&self, samples: impl Iterator<Item = u64>) -> Option<Vec<u64>> {
        if self.steps.is_empty() { None } else { Some(samples.map(|sample| self.at(sample)).collect()) }
    }

    /// Drops steps that no column shows.
    fn prune(&mut self, columns: &[Column], kind: Kind) {
        let (mut kept, mut before) = (Vec::new(), 0);
        for sample in columns.iter().map(|column| column.samples[kind as usize]) {
            let bytes = self.at(sample);
            if bytes != before {
                kept.push((sample, bytes));
                before = bytes;
            }
        }
        self.steps = kept;
    }
}

#[derive(Clone, Debug, Default)]
pub struct Held {
    blocks: HashMap<(u64, usize), HeldBlock>,
    owners: HashMap<Owner, [Steps; 3]>,
}

impl Held {
    /// Takes over the blocks and the holder of an object from the ledger. `samples` are the numbers of the last samples, by kind.
    pub fn follow(&mut self, address: u64, object: Option<&Object>, samples: [u64; 3], columns: &[Column]) {
        for side in [Side::Host, Side::Device] {
            let key = (address, side as usize);
            let before = self.blocks.remove(&key);
            let now = object.and_then(|object| Some((object, object.block(side)?))).map(|(object, block)| {
                let owner = Owner { holder: object.holder, made: object.made };
                let (kind, bytes, address) = (block.kind, block.bytes, block.address);
                let was = before.filter(|was| (was.kind, was.bytes, was.address) == (kind, bytes, address));
                HeldBlock { owner, kind, bytes, address, after: was.map_or(samples[kind as usize], |was| was.after) }
            });
            self.blocks.extend(now.map(|now| (key, now)));
            if before == now {
                continue;
            }
            // A block that moves to another owner counts as if that owner had held it since its allocation, as in the ledger.
            let is_moved = before.zip(now).is_some_and(|(before, now)| HeldBlock { owner: now.owner, ..before } == now);
            let changes = [(before, u64::saturating_sub as fn(u64, u64) -> u64), (now, u64::saturating_add)];
            for (block, change) in changes.into_iter().filter_map(|(block, change)| Some((block?, change))) {
                self.change(block, is_moved, samples, columns, change);
            }
        }
    }

    /// Adds or subtracts a block from now on or, with `since`, since its allocation.
    fn change(
        &mut self,
        block: HeldBlock,
        since: bool,
        samples: [u64; 3],
        columns: &[Column],
        change: fn(u64, u64) -> u64,
    ) {
        let kind = block.kind as usize;
        let steps = &mut self.owners.entry(block.owner).or_default()[kind];
        steps.catch_up(samples[kind]);
        steps.now = change(steps.now, block.bytes);
        let first = columns.partition_point(|column| column.samples[kind] <= block.after);
        if let Some(column) = columns.get(first).filter(|_| since) {
            steps.change_from(column.samples[kind], |bytes| change(bytes, block.bytes));
        }
        if steps.steps.len() > STEPS {
            steps.prune(columns, block.kind);
        }
    }

    pub fn finish(self, samples: [u64; 3]) -> impl Iterator<Item = (Owner, [Steps; 3])> {
        self.owners.into_iter().map(move |(owner, mut steps)| {
            for (steps, samples) in steps.iter_mut().zip(samples) {
                steps.catch_up(samples);
            }
            (owner, steps)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::{allocated, at, copied, freed};

    fn of(events: &[Event]) -> Timeline {
        let (mut timeline, mut live) = (Timeline::default(), [0; 3]);
        for event in events {
            match event.what {
                What::Allocated { kind, bytes, .. } => live[kind as usize] += bytes,
                What::Freed { kind, bytes, .. } => live[kind as usize] -= bytes,
                _ => {}
            }
            timeline.take(event, live, None);
        }
        timeline
    }

    fn most(timeline: &Timeline, kind: Kind) -> u64 {
        timeline.in_columns(usize::MAX).0.iter().map(|column| column.most[kind as usize]).max().unwrap_or(0)
    }

    #[test]
    fn a_peak_of_an_instant_survives_hours() {
        let hour = 3_600_000_000_000;
        let timeline = of(&[
            at(0, 0, allocated(Kind::Pinned, 5)),
            at(hour, 0, allocated(Kind::Pinned, 1 << 40)),
            at(hour + 1, 0, freed(Kind::Pinned, 1 << 40)),
            at(5 * hour, 0, freed(Kind::Pinned, 5)),
        ]);
        let (columns, width) = timeline.in_columns(usize::MAX);
        assert!(columns.len() <= COLUMNS && columns.len() > COLUMNS / 4, "{}", columns.len());
        assert_eq!(most(&timeline, Kind::Pinned), (1 << 40) + 5);
        let peak = columns.iter().position(|c| c.most[1] == (1 << 40) + 5).expect("the peak") as u64;
        assert_eq!(peak, hour / width);
        assert_eq!(timeline.span(), 5 * hour);
    }

    #[test]
    fn an_event_that_began_before_the_first_one_is_taken_from_its_beginning() {
        let timeline = of(&[at(50, 0, allocated(Kind::Device, 8)), at(40, 20, copied(Side::Device, 100))]);
        let columns = timeline.in_columns(usize::MAX).0;
        assert_eq!(columns.iter().map(|c| c.copied[1]).sum::<u64>(), 100);
        assert_eq!(timeline.span(), 10);
    }

    #[test]
    fn an_owner_that_changes_all_the_time_has_a_bounded_number_of_steps() {
        let (mut held, columns) = (Held::default(), [Column { samples: [9; 3], ..Column::default() }]);
        let owner = Owner { holder: Holder::Site(Site(1)), made: Site(1) };
        for sample in 0..20_000 {
            let block = HeldBlock { owner, kind: Kind::Pageable, bytes: 1, address: 1, after: sample };
            held.change(block, false, [sample; 3], &columns, u64::saturating_add);
            assert!(held.owners[&owner][0].steps.len() <= STEPS + 1);
        }
        assert_eq!(held.owners[&owner][0].now, 20_000);
    }
}
