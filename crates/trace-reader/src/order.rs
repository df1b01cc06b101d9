//! Orders records by their ends. The file is nearly so: only a thread that was interrupted between an event's end and
//! its record writes late. So a window of records is held back.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use syncedmem_trace::recording::record::Record;

/// Records.
const WINDOW: usize = 1 << 14;

#[derive(Debug, Default)]
pub struct Order {
    waiting: BinaryHeap<Reverse<Waiting>>,
    sequence: u64,
}

/// Ordered by end, then by position in the file, which is the order within a thread.
#[derive(Debug)]
struct Waiting {
    end: u64,
    sequence: u64,
    record: Record,
}

impl Order {
    /// Returns its number.
    pub fn put(&mut self, record: Record) -> u64 {
        let end = match record {
            Record::Event { event, .. } => event.end(),
            Record::Pass(pass) => pass.start.saturating_add(pass.duration),
            Record::Named { time, .. }
            | Record::Items { time, .. }
            | Record::Step { time, .. }
            | Record::Mode { time, .. } => time,
        };
        self.sequence += 1;
        self.waiting.push(Reverse(Waiting { end, sequence: self.sequence, record }));
        self.sequence
    }

    pub fn is_full(&self) -> bool {
        self.waiting.len() > WINDOW
    }

    /// With its number.
    pub fn next(&mut self) -> Option<(u64, Record)> {
        let Reverse(Waiting { sequence, record, .. }) = self.waiting.pop()?;
        Some((sequence, record))
    }
}

impl Waiting {
    fn key(&self) -> (u64, u64) {
        (self.end, self.sequence)
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}
