//! Which objects may be evicted, and which of them are in use.
//!
//! An object that is marked carries the slow bit for good, so that every access comes to the library: each one that
//! hands out an address opens an access, which its user ends. Accesses are opened, and an eviction decides that there
//! is none, under the lock of the table's shard: whoever comes second sees what the first has done.
//!
//! An eviction comes from outside, while the object's user may end it. So it takes the mark into its hands first, and
//! whoever ends the object, or makes another one in its place, waits until it is put back. An object is not to be
//! touched otherwise: its mark is not looked at without its identity, since addresses are used again.

use crate::object::claims::Identity;
use crate::platform::address_hash::{AddressMap, address_map};
use crate::platform::sync::{FOR_EVER, ForkLock, Gate, Interrupted, Lock};
use crate::state::flags::{self, KEPT};
use crate::state::head::Side;
// Not loom's: it is a hint, and whoever marks an object has it alone.
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// What may be evicted of an object that nobody uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i32)]
pub enum Eviction {
    /// Nothing.
    Never = 0,
    /// A side that the other can replace.
    Redundant = 1,
    /// Any side, the newest data with it: that is copied to the other side before.
    Always = 2,
}

impl Eviction {
    /// The one of that number.
    pub const fn from_number(number: i32) -> Option<Eviction> {
        match number {
            0 => Some(Eviction::Never),
            1 => Some(Eviction::Redundant),
            2 => Some(Eviction::Always),
            _ => None,
        }
    }
}

/// The mark of one object.
#[derive(Clone, Copy)]
struct Mark {
    /// The object as it was left by its last operation; without blocks while it is untouched.
    identity: Identity,
    how: Eviction,
    /// Accesses that were not ended yet.
    open: u32,
    /// When it was used last, by the registry's clock: no two marks have the same.
    last_use: u64,
    /// Whether an eviction has it in its hands.
    is_taken: bool,
}

struct Marks {
    by_object: AddressMap<Mark>,
    clock: u64,
}

/// Marks by the object's address.
pub struct Registry {
    marks: Lock<Marks>,
    /// How many there are, readable without the lock.
    count: AtomicUsize,
    /// Where those wait who end an object that an eviction has in its hands.
    gate: Gate,
}

/// An object that an eviction has in its hands: it is not ended before this is dropped.
pub struct Taken<'r> {
    registry: &'r Registry,
    /// Its address.
    pub object: usize,
    /// When it was used last.
    pub last_use: u64,
}

/// What an operation means for the accesses to its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It hands out no address.
    None,
    /// It hands out one.
    Opens,
    /// Every address that was handed out is void.
    Renews,
}

impl Marks {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn follow(&mut self, before: Identity, after: Identity, means: Use) -> bool {
        let now = self.tick();
        let Some(mark) = self.of(before) else { return false };
        mark.identity = after;
        match means {
            Use::None => {}
            Use::Opens => {
                mark.open = mark.open.saturating_add(1);
                mark.last_use = now;
            }
            Use::Renews => mark.open = 0,
        }
        true
    }

    /// The mark of this very object.
    fn of(&mut self, identity: Identity) -> Option<&mut Mark> {
        self.by_object.get_mut(&identity.object).filter(|mark| mark.identity == identity)
    }
}

impl ForkLock for Registry {
    fn lock_for_fork(&self) {
        self.marks.lock_for_fork();
    }

    fn unlock_after_fork(&self) {
        self.marks.unlock_after_fork();
    }
}

impl Registry {
    /// Without marks.
    #[cfg(not(loom))]
    #[expect(clippy::new_without_default, reason = "there is one, and it is a static")]
    pub const fn new() -> Self {
        let marks = Marks { by_object: address_map(), clock: 0 };
        Registry { marks: Lock::new(marks), count: AtomicUsize::new(0), gate: Gate::new() }
    }

    /// Without marks.
    #[cfg(loom)]
    pub fn new() -> Self {
        let marks = Marks { by_object: address_map(), clock: 0 };
        Registry { marks: Lock::new(marks), count: AtomicUsize::new(0), gate: Gate::new() }
    }

    /// Whether no object is marked: all that those pay who mark none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count.load(Relaxed) == 0
    }

    /// Whether an object at this address is marked, or an earlier one was.
    #[inline]
    pub fn knows(&self, object: usize) -> bool {
        !self.is_empty() && self.is_among_them(object)
    }

    // Not inlined into constructors and destructors, which ask on their shortest way.
    #[cold]
    #[inline(never)]
    fn is_among_them(&self, object: usize) -> bool {
        self.marks.with(|marks| marks.by_object.contains_key(&object))
    }

    /// Marks an object; `false` if there is no memory for that. Its open accesses stay open. An earlier object's mark at its
    /// address was purged before.
    pub fn mark(&self, identity: Identity, how: Eviction) -> bool {
        if self.change(identity, |mark| mark.how = how).is_some() {
            return true;
        }
        flags::raise_if(true, KEPT);
        self.marks.with(|marks| {
            let room = marks.by_object.try_reserve(1).is_ok();
            if room {
                let mark = Mark { identity, how, open: 0, last_use: marks.tick(), is_taken: false };
                marks.by_object.insert(identity.object, mark);
                self.count.store(marks.by_object.len(), Relaxed);
            }
            room
        })
    }

    /// What may be evicted of an object.
    pub fn how(&self, identity: Identity) -> Eviction {
        self.change(identity, |mark| mark.how).unwrap_or(Eviction::Never)
    }

    /// Whether this very object is marked.
    pub fn is_marked(&self, identity: Identity) -> bool {
        self.marks.with(|marks| marks.of(identity).is_some())
    }

    /// Drops the mark at this address. While an eviction has it in its hands, waits.
    pub fn purge(&self, object: usize) {
        if self.is_empty() {
            return;
        }
        loop {
            let wait = self.marks.with(|marks| {
                if marks.by_object.get(&object).is_some_and(|mark| mark.is_taken) {
                    return Some(self.gate.ticket());
                }
                marks.by_object.remove(&object);
                self.count.store(marks.by_object.len(), Relaxed);
                None
            });
            match wait {
                Some(ticket) => self.gate.wait(ticket),
                None => return,
            }
        }
    }

    /// An operation has changed an object from `before` to `after`, and is about to make that visible. Says whether the
    /// object is marked. The mark of an earlier object does not follow.
    pub fn follow(&self, before: Identity, after: Identity, means: Use) -> bool {
        self.marks.with(|marks| marks.follow(before, after, means))
    }

    /// Opens an access to an object that stays as it is, and says whether it is marked.
    pub fn open(&self, identity: Identity) -> Result<bool, Interrupted> {
        self.marks.try_with(FOR_EVER, |marks| marks.follow(identity, identity, Use::Opens))
    }

    /// Ends an access: `Some(false)` if none is open, `None` if the object is not marked.
    pub fn end(&self, identity: Identity) -> Result<Option<bool>, Interrupted> {
        self.marks.try_with(FOR_EVER, |marks| {
            let now = marks.tick();
            marks.of(identity).map(|mark| {
                let Some(left) = mark.open.checked_sub(1) else { return false };
                (mark.open, mark.last_use) = (left, now);
                true
            })
        })
    }

    /// What the clock shows: whatever was used before has an earlier time, or this one.
    pub fn now(&self) -> u64 {
        self.marks.with(|marks| marks.clock)
    }

    /// Takes the object with a block on `side` that nobody uses and that was used last the longest ago, but after
    /// `after` and not after `until`, of those that may be evicted in this way.
    pub fn take(&self, side: Side, how: Eviction, after: u64, until: u64) -> Option<Taken<'_>> {
        self.marks.with(|marks| {
            let oldest = marks
                .by_object
                .values_mut()
                .filter(|mark| mark.open == 0 && !mark.is_taken && mark.how >= how)
                .filter(|mark| mark.last_use > after && mark.last_use <= until)
                .filter(|mark| mark.identity.has(side))
                .min_by_key(|mark| mark.last_use)?;
            oldest.is_taken = true;
            Some(Taken { registry: self, object: oldest.identity.object, last_use: oldest.last_use })
        })
    }

    /// Puts back what was in the hands of evictions: in a forked child, where their threads do not exist.
    pub fn forget_evictions(&self) {
        self.marks.with(|marks| marks.by_object.values_mut().for_each(|mark| mark.is_taken = false));
    }

    fn change<R>(&self, identity: Identity, change: impl FnOnce(&mut Mark) -> R) -> Option<R> {
        if self.is_empty() {
            return None;
        }
        self.marks.with(|marks| marks.of(identity).map(change))
    }
}

impl Taken<'_> {
    /// Whether it is still this object, and nobody has used it since it was taken.
    pub fn is_unused(&self, identity: Identity) -> bool {
        let unused = |mark: &mut Mark| mark.open == 0 && mark.last_use == self.last_use;
        self.registry.change(identity, unused).unwrap_or(false)
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.registry.marks.with(|marks| {
            if let Some(mark) = marks.by_object.get_mut(&self.object) {
                mark.is_taken = false;
            }
        });
        self.registry.gate.open();
    }
}

impl Identity {
    /// Whether it has a block on `side`.
    fn has(&self, side: Side) -> bool {
        match side {
            Side::Host => self.host != 0,
            Side::Device => self.device != 0,
        }
    }
}
