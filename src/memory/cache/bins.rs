//! Idle blocks by size. A block fits if it wastes at most an eighth of the request; the one that wastes least is taken.

use std::collections::VecDeque;

use crate::platform::clock::coarse_milliseconds;

/// Sizes of one class differ by less than an eighth: eight classes for every power of two.
const CLASSES: usize = 8 * 64;

/// `T` describes a block besides its size.
pub struct Store<T> {
    /// By class, each in the order of their age, the oldest first.
    classes: [VecDeque<Idle<T>>; CLASSES],
    /// A bit for each class that has blocks.
    occupied: [u64; CLASSES / 64],
    bytes: u64,
    /// Number of blocks kept so far.
    turns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle<T> {
    pub bytes: usize,
    /// When it was kept: see [`coarse_milliseconds`].
    pub since: u64,
    pub block: T,
    /// Number of blocks kept before it: orders those of one tick of the clock.
    turn: u64,
}

impl<T> Idle<T> {
    pub fn new(bytes: usize, block: T) -> Self {
        Idle { bytes, since: coarse_milliseconds(), block, turn: 0 }
    }
}

/// Which of several blocks that fit equally well is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The oldest: work that still uses it has had most time to end.
    First,
    /// The newest: it may still be in the processor's cache.
    Last,
}

impl<T> Store<T> {
    pub const fn new() -> Self {
        Store { classes: [const { VecDeque::new() }; CLASSES], occupied: [0; CLASSES / 64], bytes: 0, turns: 0 }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Keeps a block; `false` if there is no memory for its entry.
    pub fn keep(&mut self, mut idle: Idle<T>) -> bool {
        let number = class(idle.bytes);
        let class = &mut self.classes[number];
        if class.try_reserve(1).is_err() {
            return false;
        }
        self.bytes += idle.bytes as u64;
        self.occupied[number / 64] |= 1 << (number % 64);
        idle.turn = self.turns;
        self.turns += 1;
        class.push_back(idle);
        true
    }

    /// Takes the `wanted` block that fits a request of `bytes` best; `turn` decides between equals.
    #[inline]
    pub fn take(&mut self, bytes: usize, turn: Turn, wanted: impl Fn(&T) -> bool) -> Option<Idle<T>> {
        let (number, last) = (class(bytes), turn == Turn::Last);
        if self.classes[number].back().is_some_and(|idle| last && is_tight(bytes, idle.bytes) && wanted(&idle.block)) {
            return self.classes[number].pop_back().map(|idle| self.removed(number, idle));
        }
        self.find(bytes, turn, wanted).and_then(|(class, at)| self.remove(class, at))
    }

    /// Whether a `wanted` block fits a request of `bytes`.
    pub fn has(&self, bytes: usize, wanted: impl Fn(&T) -> bool) -> bool {
        self.find(bytes, Turn::Last, wanted).is_some()
    }

    fn find(&self, bytes: usize, turn: Turn, wanted: impl Fn(&T) -> bool) -> Option<(usize, usize)> {
        let most = largest_for(bytes);
        let mut best = None;
        let mut least = usize::MAX;
        // Blocks that fit are in the class of the request and the next ones.
        for number in class(bytes)..=class(most) {
            let class = &self.classes[number];
            let count = class.len();
            for step in 0..count {
                let at = if turn == Turn::First { step } else { count - 1 - step };
                let idle = &class[at];
                if (bytes..=most).contains(&idle.bytes) && idle.bytes < least && wanted(&idle.block) {
                    (best, least) = (Some((number, at)), idle.bytes);
                    if is_tight(bytes, least) {
                        return best;
                    }
                }
            }
            // Blocks of a larger class fit less well.
            if best.is_some() {
                break;
            }
        }
        best
    }

    pub fn take_oldest(&mut self, wanted: impl Fn(&Idle<T>) -> bool) -> Option<Idle<T>> {
        let oldest = self.occupied().filter_map(|number| {
            let (at, idle) = self.classes[number].iter().enumerate().find(|(_, idle)| wanted(idle))?;
            Some((idle.turn, number, at))
        });
        oldest.min().and_then(|(_, number, at)| self.remove(number, at))
    }

    pub fn oldest(&self) -> Option<u64> {
        self.occupied().filter_map(|number| self.classes[number].front()).map(|idle| idle.since).min()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Idle<T>> {
        self.classes.iter_mut().flatten()
    }

    fn occupied(&self) -> impl Iterator<Item = usize> {
        self.occupied.iter().enumerate().flat_map(|(word, &bits)| {
            let next = |&bits: &u64| (bits & (bits - 1) != 0).then_some(bits & (bits - 1));
            std::iter::successors((bits != 0).then_some(bits), next)
                .map(move |bits| word * 64 + bits.trailing_zeros() as usize)
        })
    }

    fn remove(&mut self, class: usize, at: usize) -> Option<Idle<T>> {
        let blocks = &mut self.classes[class];
        // Keeps the order of age.
        let idle = if at + 1 == blocks.len() { blocks.pop_back() } else { blocks.remove(at) }?;
        Some(self.removed(class, idle))
    }

    #[inline]
    fn removed(&mut self, class: usize, idle: Idle<T>) -> Idle<T> {
        if self.classes[class].is_empty() {
            self.occupied[class / 64] &= !(1 << (class % 64));
        }
        self.bytes -= idle.bytes as u64;
        idle
    }
}

/// The largest block that fits a request of `bytes`.
fn largest_for(bytes: usize) -> usize {
    bytes.saturating_add(bytes / 8)
}

/// Whether a block fits as well as a new one: glibc's aligned blocks may have up to 96 bytes more than requested.
#[inline]
fn is_tight(request: usize, block: usize) -> bool {
    block.wrapping_sub(request) <= 96.min(request / 8)
}

/// The class of a size: its power of two, and the three bits below the highest.
fn class(bytes: usize) -> usize {
    let power = bytes.max(1).ilog2();
    let eighth = if power < 3 { (bytes << (3 - power)) & 7 } else { (bytes >> (power - 3)) & 7 };
    power as usize * 8 + eighth
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn store(sizes: &[usize]) -> Store<usize> {
        let mut store = Store::new();
        for (number, &bytes) in sizes.iter().enumerate() {
            assert!(store.keep(Idle { since: number as u64, ..Idle::new(bytes, number) }));
        }
        store
    }

    fn take(store: &mut Store<usize>, bytes: usize) -> Option<usize> {
        store.take(bytes, Turn::Last, |_| true).map(|idle| idle.block)
    }

    #[test]
    fn the_exact_size_is_taken_first() {
        let mut store = store(&[1120, 1000, 1100]);
        assert_eq!(take(&mut store, 1000), Some(1));
        assert_eq!(take(&mut store, 1000), Some(2), "then the next larger");
        assert_eq!(take(&mut store, 1000), Some(0));
        assert_eq!(take(&mut store, 1000), None);
        assert_eq!(store.bytes(), 0);
    }

    #[test]
    fn of_two_blocks_of_one_size_the_one_used_last_is_taken() {
        let mut store = store(&[4096, 4096]);
        assert_eq!(take(&mut store, 4096), Some(1));
    }

    #[test]
    fn or_the_one_that_was_put_there_first_if_that_is_asked_for() {
        let mut store = store(&[4096, 4096]);
        assert_eq!(store.take(4000, Turn::First, |_| true).map(|idle| idle.block), Some(0));
    }

    #[test]
    fn what_fits_can_be_looked_for_without_taking_it() {
        let store = store(&[4096]);
        assert!(store.has(4000, |_| true));
        assert!(!store.has(4000, |&block| block != 0));
        assert!(!store.has(4097, |_| true));
    }

    #[test]
    fn no_more_than_an_eighth_is_wasted_at_any_size() {
        for bytes in (1..5000).chain([(64 << 20) - 1, 64 << 20, (64 << 20) + 1, 129 << 20, (1 << 40) + 12345]) {
            let most = bytes + bytes / 8;
            assert_eq!(take(&mut store(&[most]), bytes), Some(0), "{most} serves {bytes}");
            assert_eq!(take(&mut store(&[most + 1]), bytes), None, "{} does not serve {bytes}", most + 1);
            assert_eq!(take(&mut store(&[bytes - 1]), bytes), None, "{} does not serve {bytes}", bytes - 1);
        }
    }

    #[test]
    fn a_block_that_is_not_wanted_stays() {
        let mut store = store(&[4096, 4200]);
        assert_eq!(store.take(4096, Turn::Last, |&block| block != 0).map(|idle| idle.block), Some(1));
        assert_eq!(store.bytes(), 4096);
    }

    #[test]
    fn the_oldest_goes_first_whatever_its_size() {
        let mut store = store(&[500, 1 << 20, 7, 500]);
        let order: Vec<_> = std::iter::from_fn(|| store.take_oldest(|_| true).map(|idle| idle.block)).collect();
        assert_eq!(order, [0, 1, 2, 3]);
        assert_eq!(store.bytes(), 0);
    }

    #[test]
    fn the_oldest_of_those_that_are_wanted_is_taken() {
        let mut store = store(&[500, 600, 700]);
        assert_eq!(store.take_oldest(|idle| idle.since > 0).map(|idle| idle.block), Some(1));
        assert_eq!(store.take_oldest(|idle| idle.since > 9), None);
    }

    #[test]
    fn bytes_are_counted() {
        let mut store = store(&[500, 600, 700]);
        assert_eq!(store.bytes(), 1800);
        take(&mut store, 600);
        assert_eq!(store.bytes(), 1200);
        assert_eq!(store.iter_mut().count(), 2);
    }

    #[test]
    fn classes_grow_with_the_size_and_hold_less_than_an_eighth() {
        for bytes in 1..100_000_usize {
            assert!(class(bytes) <= class(bytes + 1));
            assert!(class(bytes) < class(bytes + bytes.div_ceil(8)), "{bytes}");
        }
        assert!(class(usize::MAX) < CLASSES);
    }
}
