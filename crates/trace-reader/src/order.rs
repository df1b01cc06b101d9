//! Orders a process's events by their ends.
//!
//! The file is nearly in that order: each thread keeps it, but a thread that was interrupted between an event's end and
//! its record writes the record late. So a window of events is held back.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::Item;

/// Number of events in the window.
const WINDOW: usize = 1 << 14;

#[derive(Default)]
pub struct Order {
    waiting: BinaryHeap<Reverse<Waiting>>,
    sequence: u64,
    passed: u64,
    late: u64,
}

/// Ordered by end, then by position in the file, which is the order within a thread.
struct Waiting {
    end: u64,
    sequence: u64,
    item: Item,
}

impl Order {
    /// Adds an item; returns the next one if the window is full.
    pub fn put(&mut self, end: u64, item: Item) -> Option<Item> {
        self.late += u64::from(end < self.passed);
        self.sequence += 1;
        self.waiting.push(Reverse(Waiting { end, sequence: self.sequence, item }));
        if self.waiting.len() > WINDOW { self.next() } else { None }
    }

    pub fn next(&mut self) -> Option<Item> {
        let Reverse(Waiting { end, item, .. }) = self.waiting.pop()?;
        self.passed = self.passed.max(end);
        Some(item)
    }

    /// Number of items that arrived after later ones had been returned.
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
