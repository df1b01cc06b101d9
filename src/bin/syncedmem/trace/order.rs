//! A process's events in the order of their ends.
//!
//! They are written roughly in that order: each thread keeps it, and a thread that was interrupted between the end of an
//! event and its record comes a little late. So some are held back until enough others have come.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::Item;

/// How many are held back.
const WINDOW: usize = 1 << 14;

/// Events that wait for their turn.
#[derive(Default)]
pub struct Order {
    waiting: BinaryHeap<Reverse<Waiting>>,
    sequence: u64,
    passed: u64,
    late: u64,
}

/// By end, then by place in the file: within a thread that is the order of things.
struct Waiting {
    end: u64,
    sequence: u64,
    item: Item,
}

impl Order {
    /// Adds an item, and gives one back whose turn has come.
    pub fn put(&mut self, end: u64, item: Item) -> Option<Item> {
        self.late += u64::from(end < self.passed);
        self.sequence += 1;
        self.waiting.push(Reverse(Waiting { end, sequence: self.sequence, item }));
        if self.waiting.len() > WINDOW { self.next() } else { None }
    }

    /// The next one.
    pub fn next(&mut self) -> Option<Item> {
        let Reverse(Waiting { end, item, .. }) = self.waiting.pop()?;
        self.passed = self.passed.max(end);
        Some(item)
    }

    /// How many came when later ones had been given back already.
    pub fn late(&self) -> u64 {
        self.late
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
