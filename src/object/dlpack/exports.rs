//! The registry of exported tensors, and of tensors that objects borrow.
//!
//! While tensors of an object are in use, its memory is neither replaced nor given back; an object of `syncedmem_create`
//! that is destroyed meanwhile ends with the last one. A deletion on any thread only changes a count, under the registry's
//! lock.

use syncedmem_trace::address_hash::{AddressMap, address_map};
use syncedmem_trace::head::Side;

use super::{Holding, Imported};
use crate::error::Error;
use crate::platform::sync::{ForkLock, ForkStep, Lock, constructor};
use crate::state::flags;
// Not loom's: the count is a hint, because no other thread changes the object of one that exports or borrows.
use std::sync::atomic::{
    AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
    fence,
};

#[derive(Default)]
struct Entry {
    /// Distinguishes objects at the same address.
    generation: u64,
    tensors: [usize; 2],
    /// Borrowed tensors, by side.
    imported: [Option<Imported>; 2],
    /// A tensor is about to be borrowed.
    reserved: bool,
    /// Destroyed, and waits for its tensors.
    ended: bool,
}

struct Entries {
    by_object: AddressMap<Entry>,
    generations: u64,
}

pub struct Registry {
    entries: Lock<Entries>,
    /// Number of entries, readable without the lock.
    count: AtomicUsize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Ends,
    /// It ends with its last tensor.
    Waits,
}

impl Entries {
    fn of(&mut self, holding: Holding) -> Option<&mut Entry> {
        self.by_object.get_mut(&holding.object).filter(|entry| entry.generation == holding.generation)
    }
}

impl ForkLock for Registry {
    fn at_fork(&self, step: ForkStep) {
        self.entries.at_fork(step);
    }
}

impl Registry {
    constructor! {
        pub fn new() -> Self {
            let entries = Entries { by_object: address_map(), generations: 0 };
            Registry { entries: Lock::new(entries), count: AtomicUsize::new(0) }
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count.load(Relaxed) == 0
    }

    pub fn open(&self, object: usize, side: Side) -> Result<Holding, Error> {
        self.with_room(object, |entry| {
            if entry.ended {
                return Err(Error::InvalidHandle);
            }
            entry.tensors[side as usize] += 1;
            Ok(Holding { object, generation: entry.generation, side })
        })?
    }

    /// Whether the object that the tensor was made of still exists.
    pub fn knows(&self, holding: Holding) -> bool {
        self.entries.with(|entries| entries.of(holding).is_some())
    }

    /// Returns whether the object was destroyed and this was its last tensor.
    pub fn close(&self, holding: Holding) -> bool {
        self.entries.with(|entries| {
            let Some(entry) = entries.of(holding) else { return false };
            let tensors = &mut entry.tensors[holding.side as usize];
            *tensors = tensors.saturating_sub(1);
            let ends = entry.ended && entry.tensors == [0, 0];
            self.tidy(entries, holding.object);
            ends
        })
    }

    /// For operations that tensors forbid: they see the effects of the last tensor's user.
    pub fn is_empty_by_now(&self) -> bool {
        // Acquire: pairs with the Release in `recount`.
        let is_empty = self.is_empty();
        fence(Acquire);
        is_empty
    }

    pub fn is_free_of(&self, object: usize) -> bool {
        self.is_empty_by_now() || self.entries.with(|entries| !entries.by_object.contains_key(&object))
    }

    fn recount(&self, entries: &Entries) {
        let count = entries.by_object.len();
        flags::count_kept(self.count.load(Relaxed), count);
        // Release: the effects of a tensor's user precede the tensor's end.
        self.count.store(count, Release);
    }

    pub fn tensors(&self, object: usize) -> [usize; 2] {
        if self.is_empty_by_now() {
            return [0, 0];
        }
        self.entries.with(|entries| entries.by_object.get(&object).map_or([0, 0], |entry| entry.tensors))
    }

    /// An error while tensors of `side`, without it of any side, are in use.
    pub fn refuse(&self, object: usize, side: Option<Side>) -> Result<(), Error> {
        let [host, device] = self.tensors(object);
        let (host, device) = match side {
            Some(Side::Host) => (host, 0),
            Some(Side::Device) => (0, device),
            None => (host, device),
        };
        if host + device > 0 { Err(Error::Exported { host, device }) } else { Ok(()) }
    }

    /// Marks the object as destroyed if tensors of it are in use.
    pub fn destroy(&self, object: usize) -> Result<Fate, Error> {
        if self.is_empty_by_now() {
            return Ok(Fate::Ends);
        }
        self.entries.with(|entries| match entries.by_object.get_mut(&object) {
            Some(entry) if entry.ended => Err(Error::InvalidHandle),
            Some(entry) if entry.tensors != [0, 0] => {
                entry.ended = true;
                Ok(Fate::Waits)
            }
            _ => Ok(Fate::Ends),
        })
    }

    /// Makes sure that `exchange` needs no memory.
    pub fn reserve(&self, object: usize) -> Result<(), Error> {
        self.with_room(object, |entry| entry.reserved = true)
    }

    pub fn unreserve(&self, object: usize) {
        self.entries.with(|entries| {
            if let Some(entry) = entries.by_object.get_mut(&object) {
                entry.reserved = false;
            }
            self.tidy(entries, object);
        });
    }

    /// Sets the tensor that a side borrows, after `reserve`, or none. The caller ends the previous one without a lock.
    pub fn exchange(&self, object: usize, side: Side, imported: Option<Imported>) -> Option<Imported> {
        if self.is_empty() {
            return None;
        }
        self.entries.with(|entries| {
            let before = entries.by_object.get_mut(&object).and_then(|entry| {
                entry.reserved &= imported.is_none();
                std::mem::replace(&mut entry.imported[side as usize], imported)
            });
            self.tidy(entries, object);
            before
        })
    }

    /// The caller ends the borrowed tensors without a lock.
    pub fn forget(&self, object: usize) -> [Option<Imported>; 2] {
        self.entries.with(|entries| {
            let entry = entries.by_object.remove(&object);
            self.recount(entries);
            entry.map_or([None, None], |entry| entry.imported)
        })
    }

    fn with_room<R>(&self, object: usize, work: impl FnOnce(&mut Entry) -> R) -> Result<R, Error> {
        self.entries.with(|entries| {
            entries.by_object.try_reserve(1).map_err(|_| Error::no_room(size_of::<Entry>()))?;
            let generations = &mut entries.generations;
            let entry = entries.by_object.entry(object).or_insert_with(|| {
                *generations += 1;
                Entry { generation: *generations, ..Entry::default() }
            });
            let answer = work(entry);
            self.recount(entries);
            Ok(answer)
        })
    }

    fn tidy(&self, entries: &mut Entries, object: usize) {
        let is_empty =
            |entry: &Entry| entry.tensors == [0, 0] && !entry.reserved && entry.imported.iter().all(Option::is_none);
        if entries.by_object.get(&object).is_some_and(is_empty) {
            entries.by_object.remove(&object);
            self.recount(entries);
        }
    }
}
