//! Arenas of the objects that share memory. Each thread has one on the host, and one on each device. A block lies at the place that its
//! object's plan gives it, else in the smallest gap that holds it.

pub mod device;
pub mod host;

use std::iter::Sum;

use crate::platform::sync::{Lock, locked_static};

/// A device's block starts at a multiple of this, as the driver's blocks do; a host block starts 16 bytes after one.
const ALIGNMENT: usize = 256;

struct Arenas {
    host: Vec<host::Arena>,
    device: Vec<device::Arena>,
}

locked_static! { static ARENAS: Lock<Arenas> = Lock::new(Arenas { host: Vec::new(), device: Vec::new() }); }

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    start: usize,
    bytes: usize,
}

impl Span {
    fn end(self) -> usize {
        self.start + self.bytes
    }
}

/// The blocks in use, sorted by their start.
struct Spans(Vec<Span>);

impl Spans {
    /// Takes the bytes from `start` on. `None` if they are not free, or there is no memory for the bookkeeping.
    fn take_at(&mut self, start: usize, bytes: usize, limit: usize) -> Option<Span> {
        let at = self.0.partition_point(|span| span.start < start);
        let is_behind = at == 0 || self.0[at - 1].end() <= start;
        let end = start.checked_add(bytes)?;
        let is_free = is_behind && end <= self.0.get(at).map_or(limit, |next| next.start);
        self.0.try_reserve(1).ok()?;
        is_free.then(|| {
            self.0.insert(at, Span { start, bytes });
            Span { start, bytes }
        })
    }

    /// Takes the smallest gap of at least `bytes` before `limit`, the first of equal ones. `None` if there is none, or no memory for
    /// the bookkeeping.
    fn take(&mut self, bytes: usize, limit: usize) -> Option<Span> {
        self.0.try_reserve(1).ok()?;
        let starts = std::iter::once(0).chain(self.0.iter().map(|span| span.end()));
        let ends = self.0.iter().map(|span| span.start).chain(std::iter::once(limit));
        let gaps = starts.zip(ends).enumerate().filter(|(_, (start, end))| end.saturating_sub(*start) >= bytes);
        let (at, (start, _)) = gaps.min_by_key(|(_, (start, end))| end - start)?;
        let span = Span { start, bytes };
        self.0.insert(at, span);
        Some(span)
    }

    fn give_back(&mut self, start: usize) -> Option<Span> {
        let at = self.0.binary_search_by_key(&start, |span| span.start).ok()?;
        Some(self.0.remove(at))
    }
}

/// Bytes of one arena, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    pub in_use: u64,
    pub most_in_use: u64,
    /// The end of the highest block so far.
    pub needed: u64,
}

impl Sum for Figures {
    fn sum<I: Iterator<Item = Figures>>(all: I) -> Figures {
        all.fold(Figures::default(), |sum, one| Figures {
            in_use: sum.in_use + one.in_use,
            most_in_use: sum.most_in_use + one.most_in_use,
            needed: sum.needed + one.needed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_takes_the_smallest_gap_that_holds_it() {
        let mut spans = Spans(Vec::new());
        let starts: Vec<_> =
            [100, 30, 100, 20, 100].iter().map(|&bytes| spans.take(bytes, 1000).unwrap().start).collect();
        assert_eq!(starts, [0, 100, 130, 230, 250]);
        assert!(spans.give_back(100).is_some() && spans.give_back(230).is_some());
        assert_eq!(spans.take(15, 1000), Some(Span { start: 230, bytes: 15 }));
        assert_eq!(spans.take(25, 1000), Some(Span { start: 100, bytes: 25 }));
        assert_eq!(spans.take(25, 1000), Some(Span { start: 350, bytes: 25 }));
        assert_eq!(spans.take(626, 1000), None, "the limit leaves 625");
        assert!(spans.give_back(101).is_none(), "no block starts there");
    }

    #[test]
    fn a_planned_block_lies_where_it_is_planned_if_that_is_free() {
        let mut spans = Spans(Vec::new());
        assert_eq!(spans.take_at(200, 50, 1000), Some(Span { start: 200, bytes: 50 }));
        assert_eq!(spans.take_at(100, 100, 1000), Some(Span { start: 100, bytes: 100 }));
        for (start, bytes) in [(240, 20), (150, 10), (90, 20), (960, 50), (usize::MAX, 2)] {
            assert_eq!(spans.take_at(start, bytes, 1000), None, "{start} {bytes}");
        }
        assert_eq!(spans.take_at(250, 750, 1000), Some(Span { start: 250, bytes: 750 }));
    }

    #[test]
    fn neighbours_that_are_given_back_are_one_gap() {
        let mut spans = Spans(Vec::new());
        let starts: Vec<_> = (0..4).map(|_| spans.take(64, 256).unwrap().start).collect();
        assert!(starts[1..3].iter().all(|&start| spans.give_back(start).is_some()));
        assert_eq!(spans.take(128, 256), Some(Span { start: 64, bytes: 128 }));
    }
}
