//! A slot for the calling thread, in tables that threads use at once. The first [`SLOTS`] threads of a process share none.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use syncedmem_trace::address_hash::hash_address;

use crate::platform::sync::this_thread;

pub const SLOTS: usize = 8;

/// Each slot's thread, or 0. Each is written once, so all processors can keep the line.
#[repr(align(64))]
struct Owners([AtomicUsize; SLOTS]);

static OWNERS: Owners = Owners::new();

#[inline]
pub fn of_this_thread() -> usize {
    OWNERS.slot_of(this_thread())
}

impl Owners {
    const fn new() -> Owners {
        Owners([const { AtomicUsize::new(0) }; SLOTS])
    }

    #[inline]
    fn slot_of(&self, thread: usize) -> usize {
        let first = (hash_address(thread) >> 32) as usize % SLOTS;
        // A model has few threads.
        if cfg!(loom) || self.0[first].load(Relaxed) == thread {
            first
        } else {
            self.find(thread, first).unwrap_or(first)
        }
    }

    /// The thread's slot, or the next free one, which it takes.
    #[inline(never)]
    fn find(&self, thread: usize, first: usize) -> Option<usize> {
        let is_own = |&slot: &usize| match self.0[slot].load(Relaxed) {
            0 => self.0[slot].compare_exchange(0, thread, Relaxed, Relaxed).is_ok(),
            owner => owner == thread,
        };
        (first..first + SLOTS).map(|slot| slot % SLOTS).find(is_own)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn as_many_threads_as_there_are_slots_share_none_and_keep_theirs() {
        let owners = Owners::new();
        let threads: Vec<usize> = (1..=SLOTS).map(|number| number << 23).collect();
        let slots: Vec<_> = threads.iter().map(|&thread| owners.slot_of(thread)).collect();
        assert!((0..SLOTS).all(|slot| slots.contains(&slot)), "{slots:?}");
        assert_eq!(threads.iter().map(|&thread| owners.slot_of(thread)).collect::<Vec<_>>(), slots);
        assert!(owners.slot_of(99 << 23) < SLOTS);
    }
}
