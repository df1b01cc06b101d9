//! Idle blocks by size. A block fits if it wastes at most an eighth of the request, and the best fit is taken.

use std::collections::VecDeque;

use crate::platform::clock::coarse_milliseconds;

/// Size classes: eight for every power of two, so sizes of one class differ by less than an eighth.
const CLASSES: usize = 8 * 64;

pub struct Store<T> {
    /// The oldest block of a class comes first.
    classes: [VecDeque<Idle<T>>; CLASSES],
    bytes: u64,
    turns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle<T> {
    pub bytes: usize,
    /// [`coarse_milliseconds`] at the time when the block was kept.
    pub since: u64,
    pub block: T,
    /// Orders blocks of one tick of the clock.
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
    /// The oldest: work that uses it has had most time to end.
    First,
    /// The newest: it may still be in the processor's cache.
    Last,
}

impl<T> Store<T> {
    pub const fn new() -> Self {
        Store { classes: [const { VecDeque::new() }; CLASSES], bytes: 0, turns: 0 }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Keeps a block. `false` if there is no memory for the entry.
    pub fn keep(&mut self, mut idle: Idle<T>) -> bool {
        let class = &mut self.classes[class(idle.bytes)];
        if class.try_reserve(1).is_err() {
            return false;
        }
        self.bytes += idle.bytes as u64;
        idle.turn = self.turns;
        self.turns += 1;
        class.push_back(idle);
        true
    }

    #[inline]
    pub fn take(&mut self, bytes: usize, turn: Turn, wanted: impl Fn(&T) -> bool) -> Option<Idle<T>> {
        self.find(bytes, turn, wanted).and_then(|(class, at)| self.remove(class, at))
    }

    pub fn has(&self, bytes: usize, wanted: impl Fn(&T) -> bool) -> bool {
        self.find(bytes, Turn::Last, wanted).is_some()
    }

    fn find(&self, bytes: usize, turn: Turn, wanted: impl Fn(&T) -> bool) -> Option<(usize, usize)> {
        let most = bytes.saturating_add(bytes / 8);
        let mut best = None;
        let mut least = usize::MAX;
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
        let oldest = self.classes.iter().enumerate().filter_map(|(number, class)| {
            let (at, idle) = class.iter().enumerate().find(|(_, idle)| wanted(idle))?;
            Some((idle.turn, number, at))
        });
        oldest.min().and_then(|(_, number, at)| self.remove(number, at))
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Idle<T>> {
        self.classes.iter_mut().flatten()
    }

    fn remove(&mut self, class: usize, at: usize) -> Option<Idle<T>> {
        // `Vec::remove` keeps the order by age.
        self.classes[class].remove(at).inspect(|idle| self.bytes -= idle.bytes as u64)
    }
}

/// Whether a block fits as well as a new one: glibc's aligned blocks may have up to 96 bytes more than requested.
#[inline]
fn is_tight(request: usize, block: usize) -> bool {
    block.wrapping_sub(request) <= 96.min(request / 8)
}

/// A size's power of two, and the three bits below the highest.
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
        assert_eq!((store.bytes(), store.iter_mut().count()), (3220, 3));
        assert_eq!(take(&mut store, 1000), Some(1));
        assert_eq!((store.bytes(), store.iter_mut().count()), (2220, 2));
        assert_eq!(take(&mut store, 1000), Some(2), "then the next larger");
        assert_eq!(take(&mut store, 1000), Some(0));
        assert_eq!(take(&mut store, 1000), None);
        assert_eq!(store.bytes(), 0);
    }

    #[test]
    fn of_blocks_of_one_size_the_one_used_last_is_taken_or_the_first_if_that_is_asked_for() {
        let mut store = store(&[4096; 3]);
        assert_eq!(take(&mut store, 4096), Some(2));
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
    fn the_oldest_that_is_wanted_goes_first_whatever_its_size() {
        let mut store = store(&[500, 1 << 20, 7, 500]);
        assert_eq!(store.take_oldest(|idle| idle.since > 0).map(|idle| idle.block), Some(1));
        assert_eq!(store.take_oldest(|idle| idle.since > 9), None);
        let order: Vec<_> = std::iter::from_fn(|| store.take_oldest(|_| true).map(|idle| idle.block)).collect();
        assert_eq!(order, [0, 2, 3]);
        assert_eq!(store.bytes(), 0);
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
