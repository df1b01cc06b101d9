//! Memory and copies over time, in a bounded number of columns. One pass takes any number of events, and no peak is
//! lost.

use syncedmem_core::head::Side;
use syncedmem_trace::account::Sum;
use syncedmem_trace::event::{Event, Pass, PassKind, What};
use syncedmem_trace_reader::ledger::Object;

use super::held::{Column, Held, Owner, Steps};

/// A wide screen has no more pixels.
const COLUMNS: usize = 1024;

#[derive(Clone, Debug, Default)]
pub struct Timeline {
    origin: Option<u64>,
    last: u64,
    /// A column has two to the power of this nanoseconds.
    exponent: u32,
    columns: Vec<Column>,
    now: [u64; 3],
    /// The last ones, by kind: a column began then, or held more than before.
    samples: [u64; 3],
    held: Held,
    passes: [Sum; 4],
}

impl Timeline {
    /// Ordered by ends. `live` (bytes, by kind) and `object` are as after the event.
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

    /// Adds the next pass, ordered among the events by its end.
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

    /// Goes on to the end of what began at `start`. Returns the timeline's origin, and the last column.
    fn reach(&mut self, start: u64, end: u64) -> (u64, usize) {
        let origin = *self.origin.get_or_insert(start);
        self.last = self.last.max(end).max(origin);
        (origin, self.column_at(self.last))
    }

    /// Of a time that has not passed; fills the columns up to it.
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

    /// To be called once, after the last event.
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

    /// At most `at_most`, and the width of one in nanoseconds.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::{allocated, at, copied, freed};
    use syncedmem_core::kind::Kind;

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
}
