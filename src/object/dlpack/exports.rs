//! What others hold of objects, and what objects hold of others: tensors that were exported, and tensors that were lent.
//!
//! An object whose tensors are in use stays as it is: its memory is neither exchanged nor given back, and an object of
//! `syncedmem_create` that is destroyed meanwhile ends with its last tensor. Tensors are deleted on any thread at any time,
//! beside whatever else is done with their object; all that they touch here is a count, under the registry's lock.

use super::{Holding, Lent};
use crate::error::{Cause, Error};
use crate::platform::address_hash::AddressMap;
use crate::platform::sync::Lock;
use crate::state::head::Side;
// Not loom's: it is a hint, and whoever exports or lends has the object, or knows that nobody changes it.
use std::sync::atomic::{
    AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
    fence,
};

/// What is known of one object.
#[derive(Default)]
struct Entry {
    /// Tells it from an earlier object at its address.
    life: u64,
    /// Tensors in use of each side.
    tensors: [usize; 2],
    /// What was lent to each side.
    lent: [Option<Lent>; 2],
    /// Whether something is about to be lent.
    reserved: bool,
    /// Whether it was destroyed, and waits for its tensors.
    ended: bool,
}

struct Entries {
    by_object: AddressMap<Entry>,
    lives: u64,
}

/// Entries by the object's address.
pub struct Registry {
    entries: Lock<Entries>,
    /// How many there are, readable without the lock.
    count: AtomicUsize,
}

/// What becomes of an object that is destroyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It ends now.
    Ends,
    /// It ends with its last tensor.
    Waits,
}

impl Registry {
    /// Without entries.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        let by_object = AddressMap::with_hasher(crate::platform::address_hash::SPREADING);
        Registry { entries: Lock::new(Entries { by_object, lives: 0 }), count: AtomicUsize::new(0) }
    }

    /// Without entries.
    #[cfg(loom)]
    pub fn new() -> Self {
        let entries = Entries { by_object: AddressMap::default(), lives: 0 };
        Registry { entries: Lock::new(entries), count: AtomicUsize::new(0) }
    }

    /// Whether nothing is exported or lent: all that those pay who do neither.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count.load(Relaxed) == 0
    }

    /// Counts one more tensor of an object's side.
    pub fn open(&self, object: usize, side: Side) -> Result<Holding, Error> {
        self.with_room(object, |entry| {
            if entry.ended {
                return Err(Error::InvalidHandle);
            }
            entry.tensors[side as usize] += 1;
            Ok(Holding { object, life: entry.life, side })
        })?
    }

    /// Whether it is still the object that the tensor was made of.
    pub fn knows(&self, holding: Holding) -> bool {
        self.entries
            .with(|entries| entries.by_object.get(&holding.object).is_some_and(|entry| entry.life == holding.life))
    }

    /// Counts one less, and says whether the object, which was destroyed before, is to end now: then nobody else knows it.
    pub fn close(&self, holding: Holding) -> bool {
        self.entries.with(|entries| {
            let Some(entry) = entries.by_object.get_mut(&holding.object).filter(|entry| entry.life == holding.life)
            else {
                return false;
            };
            let tensors = &mut entry.tensors[holding.side as usize];
            *tensors = tensors.saturating_sub(1);
            let ends = entry.ended && entry.tensors == [0, 0];
            self.tidy(entries, holding.object);
            ends
        })
    }

    /// The same, for whoever does then what a tensor stood in the way of: what its user did with it is seen.
    fn is_empty_by_now(&self) -> bool {
        // The other side of `recount`.
        let is_empty = self.is_empty();
        fence(Acquire);
        is_empty
    }

    fn recount(&self, entries: &Entries) {
        // Release: what was done with a tensor came before its end.
        self.count.store(entries.by_object.len(), Release);
    }

    /// How many tensors of each side are in use: the host's, the device's.
    pub fn tensors(&self, object: usize) -> [usize; 2] {
        if self.is_empty_by_now() {
            return [0, 0];
        }
        self.entries.with(|entries| entries.by_object.get(&object).map_or([0, 0], |entry| entry.tensors))
    }

    /// An error while tensors of `side` are in use, or, without one, any.
    pub fn refuse(&self, object: usize, side: Option<Side>) -> Result<(), Error> {
        let [host, device] = self.tensors(object);
        let (host, device) = match side {
            Some(Side::Host) => (host, 0),
            Some(Side::Device) => (0, device),
            None => (host, device),
        };
        if host + device > 0 { Err(Error::Exported { host, device }) } else { Ok(()) }
    }

    /// The object is destroyed: says whether at once.
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

    /// Keeps room for something that is about to be lent to the object.
    pub fn reserve(&self, object: usize) -> Result<(), Error> {
        self.with_room(object, |entry| entry.reserved = true)
    }

    /// What was about to be lent to the object is not.
    pub fn unreserve(&self, object: usize) {
        self.entries.with(|entries| {
            if let Some(entry) = entries.by_object.get_mut(&object) {
                entry.reserved = false;
            }
            self.tidy(entries, object);
        });
    }

    /// A side of the object refers to what is `lent` to it, for which room was kept, if anything is. What it referred to before
    /// is to be ended, with nothing held.
    pub fn exchange(&self, object: usize, side: Side, lent: Option<Lent>) -> Option<Lent> {
        if self.is_empty() {
            return None;
        }
        self.entries.with(|entries| {
            let before = entries.by_object.get_mut(&object).and_then(|entry| {
                entry.reserved &= lent.is_none();
                std::mem::replace(&mut entry.lent[side as usize], lent)
            });
            self.tidy(entries, object);
            before
        })
    }

    /// There is no object at this address any more. What it referred to is to be ended, with nothing held.
    pub fn forget(&self, object: usize) -> [Option<Lent>; 2] {
        self.entries.with(|entries| {
            let entry = entries.by_object.remove(&object);
            self.recount(entries);
            entry.map_or([None, None], |entry| entry.lent)
        })
    }

    /// Holds the entries still, until `release`: for fork.
    pub fn acquire(&self) {
        self.entries.acquire();
    }

    /// Ends `acquire`.
    pub fn release(&self) {
        self.entries.release();
    }

    /// Does `work` with the object's entry, which is made if there is none.
    fn with_room<R>(&self, object: usize, work: impl FnOnce(&mut Entry) -> R) -> Result<R, Error> {
        self.entries.with(|entries| {
            if entries.by_object.try_reserve(1).is_err() {
                let asked = size_of::<Entry>();
                return Err(Error::OutOfMemory { side: Side::Host, asked, cause: Cause::Bookkeeping });
            }
            let lives = &mut entries.lives;
            let entry = entries.by_object.entry(object).or_insert_with(|| {
                *lives += 1;
                Entry { life: *lives, ..Entry::default() }
            });
            let answer = work(entry);
            self.recount(entries);
            Ok(answer)
        })
    }

    /// Drops the object's entry if it says nothing.
    fn tidy(&self, entries: &mut Entries, object: usize) {
        let says_nothing =
            |entry: &Entry| entry.tensors == [0, 0] && !entry.reserved && entry.lent.iter().all(Option::is_none);
        if entries.by_object.get(&object).is_some_and(says_nothing) {
            entries.by_object.remove(&object);
            self.recount(entries);
        }
    }
}
