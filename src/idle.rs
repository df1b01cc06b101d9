//! Blocks that nobody holds, by size: whole allocations, for the next request that one of them fits.
//!
//! A block fits if at most an eighth of the request would be wasted, and the one that wastes least is taken. Blocks keep
//! the size that they were made with: nothing is rounded up for the sake of a later request.

/// Sizes of one class differ by less than an eighth: eight classes for every power of two.
const CLASSES: usize = 8 * 64;

/// Idle blocks. `T` is what is known of one besides its size.
pub struct Store<T> {
    /// By class; in each, the one that has been idle longest first.
    classes: [Vec<Idle<T>>; CLASSES],
    bytes: u64,
    blocks: usize,
}

/// A block that nobody holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle<T> {
    /// Its size in bytes.
    pub bytes: usize,
    /// When it was put here, in milliseconds, see [`now`].
    pub since: u64,
    /// What else is known of it.
    pub block: T,
}

impl<T> Store<T> {
    /// A store without blocks.
    pub const fn new() -> Self {
        Store { classes: [const { Vec::new() }; CLASSES], bytes: 0, blocks: 0 }
    }

    /// How many bytes there are in it.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.blocks == 0
    }

    /// Keeps a block; it comes back if there is no memory for that.
    pub fn keep(&mut self, idle: Idle<T>) -> Result<(), Idle<T>> {
        let class = &mut self.classes[class(idle.bytes)];
        if class.try_reserve(1).is_err() {
            return Err(idle);
        }
        self.bytes += idle.bytes as u64;
        self.blocks += 1;
        class.push(idle);
        Ok(())
    }

    /// Takes out the block that fits a request of `bytes` best, among those that are `wanted`; of two that fit alike, the
    /// one that was used last.
    pub fn take(&mut self, bytes: usize, wanted: impl Fn(&T) -> bool) -> Option<Idle<T>> {
        let most = largest_for(bytes);
        let mut best: Option<(usize, usize, usize)> = None;
        // An eighth more is in the same class, in the next, or, by rounding, in the one after.
        for number in class(bytes)..=class(most) {
            for (at, idle) in self.classes[number].iter().enumerate().rev() {
                let fits = (bytes..=most).contains(&idle.bytes);
                if fits && best.is_none_or(|(.., size)| idle.bytes < size) && wanted(&idle.block) {
                    best = Some((number, at, idle.bytes));
                    if idle.bytes == bytes {
                        return best.map(|(number, at, _)| self.remove(number, at));
                    }
                }
            }
            // What is in a larger class fits less well.
            if best.is_some() {
                break;
            }
        }
        best.map(|(number, at, _)| self.remove(number, at))
    }

    /// Takes out the block that has been here longest of those that are `wanted`.
    pub fn take_oldest(&mut self, wanted: impl Fn(&Idle<T>) -> bool) -> Option<Idle<T>> {
        let classes = self.classes.iter().enumerate();
        let oldest = classes.filter_map(|(number, class)| {
            let (at, idle) = class.iter().enumerate().find(|(_, idle)| wanted(idle))?;
            Some((idle.since, number, at))
        });
        oldest.min().map(|(_, number, at)| self.remove(number, at))
    }

    /// Every block, to look at or to change.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Idle<T>> {
        self.classes.iter_mut().flatten()
    }

    fn remove(&mut self, class: usize, at: usize) -> Idle<T> {
        // Not `swap_remove`: the order is that of their age.
        let idle = self.classes[class].remove(at);
        self.bytes -= idle.bytes as u64;
        self.blocks -= 1;
        idle
    }
}

/// The largest block that a request of `bytes` is served with.
fn largest_for(bytes: usize) -> usize {
    bytes.saturating_add(bytes / 8)
}

/// The class of a size: its power of two, and the three bits below the highest.
fn class(bytes: usize) -> usize {
    let power = bytes.max(1).ilog2();
    let eighth = if power < 3 { (bytes << (3 - power)) & 7 } else { (bytes >> (power - 3)) & 7 };
    power as usize * 8 + eighth
}

/// The time in milliseconds since some moment: as of the last tick of the system's clock, which costs a few nanoseconds.
#[expect(unsafe_code, reason = "clock_gettime")]
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &mut time) };
    time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn store(sizes: &[usize]) -> Store<usize> {
        let mut store = Store::new();
        for (number, &bytes) in sizes.iter().enumerate() {
            store.keep(Idle { bytes, since: number as u64, block: number }).expect("there is memory");
        }
        store
    }

    fn take(store: &mut Store<usize>, bytes: usize) -> Option<usize> {
        store.take(bytes, |_| true).map(|idle| idle.block)
    }

    #[test]
    fn the_exact_size_is_taken_first() {
        let mut store = store(&[1040, 1000, 1001]);
        assert_eq!(take(&mut store, 1000), Some(1));
        assert_eq!(take(&mut store, 1000), Some(2), "then the next larger");
        assert_eq!(take(&mut store, 1000), Some(0));
        assert_eq!(take(&mut store, 1000), None);
        assert!(store.is_empty());
    }

    #[test]
    fn of_two_blocks_of_one_size_the_one_used_last_is_taken() {
        let mut store = store(&[4096, 4096]);
        assert_eq!(take(&mut store, 4096), Some(1));
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
        assert_eq!(store.take(4096, |&block| block != 0).map(|idle| idle.block), Some(1));
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
