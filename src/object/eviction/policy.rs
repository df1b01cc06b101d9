//! The eviction policies of objects, and which objects are in use.
//!
//! An object with a policy keeps its word's slow bit, so every access takes the slow path and is open until the object's user
//! ends it. Accesses are opened, and an eviction checks that there is none, under the lock of the claim table's shard: the
//! second of the two sees the first.
//!
//! Another thread may end the object meanwhile: an eviction takes the entry first, and destructors and constructors at that
//! address wait until it is put back. Addresses are reused, so entries are found by the whole identity.

use syncedmem_trace::address_hash::{AddressMap, address_map};
use syncedmem_trace::head::Side;

use crate::object::claims::Identity;
use crate::platform::sync::{FOR_EVER, ForkLock, ForkStep, Gate, Interrupted, Lock, constructor};
use crate::state::flags;
// Not loom's: the count is a hint, because a thread that sets a policy has the object to itself.
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The sides that may be evicted without open accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Policy {
    Never,
    /// One that the other can replace.
    Redundant,
    /// Any; the newest data is copied to the other side first.
    Always,
}

#[derive(Clone, Copy)]
struct Entry {
    /// After the object's last operation; without blocks while it is untouched.
    identity: Identity,
    policy: Policy,
    /// Open accesses.
    open: u32,
    /// By the registry's clock; different in every entry.
    last_use: u64,
    is_taken: bool,
}

struct Entries {
    by_object: AddressMap<Entry>,
    clock: u64,
}

pub struct Registry {
    entries: Lock<Entries>,
    /// Number of entries, readable without the lock.
    count: AtomicUsize,
    /// Opens when an eviction ends.
    gate: Gate,
}

/// An object that an eviction is at work on. Its destructor waits until this is dropped.
pub struct Taken<'r> {
    registry: &'r Registry,
    pub object: usize,
    pub last_use: u64,
}

/// The effect of an operation on its object's accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    None,
    Opens,
    /// It ends all earlier accesses, because it makes their addresses invalid.
    Renews,
}

impl Entries {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn follow(&mut self, before: Identity, after: Identity, means: Use) -> bool {
        let now = self.tick();
        let Some(entry) = self.of(before) else { return false };
        entry.identity = after;
        match means {
            Use::None => {}
            Use::Opens => {
                entry.open = entry.open.saturating_add(1);
                entry.last_use = now;
            }
            Use::Renews => entry.open = 0,
        }
        true
    }

    /// Not the entry of an earlier object at the address.
    fn of(&mut self, identity: Identity) -> Option<&mut Entry> {
        self.by_object.get_mut(&identity.object).filter(|entry| entry.identity == identity)
    }
}

impl ForkLock for Registry {
    fn at_fork(&self, step: ForkStep) {
        self.entries.at_fork(step);
    }
}

impl Registry {
    constructor! {
        #[expect(clippy::new_without_default, reason = "there is one, and it is a static")]
        pub fn new() -> Self {
            let entries = Entries { by_object: address_map(), clock: 0 };
            Registry { entries: Lock::new(entries), count: AtomicUsize::new(0), gate: Gate::new() }
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count.load(Relaxed) == 0
    }

    /// Whether this object, or an earlier one at the address, has an entry.
    #[inline]
    pub fn knows(&self, object: usize) -> bool {
        !self.is_empty() && self.has_entry(object)
    }

    // Constructors and destructors call `knows` on their shortest path.
    #[cold]
    #[inline(never)]
    fn has_entry(&self, object: usize) -> bool {
        self.entries.with(|entries| entries.by_object.contains_key(&object))
    }

    /// `false`: no memory for an entry. Open accesses stay open. The caller has purged an earlier object's entry.
    pub fn set(&self, identity: Identity, policy: Policy) -> bool {
        self.entries.with(|entries| {
            if let Some(entry) = entries.of(identity) {
                entry.policy = policy;
                return true;
            }
            let room = entries.by_object.try_reserve(1).is_ok();
            if room {
                let entry = Entry { identity, policy, open: 0, last_use: entries.tick(), is_taken: false };
                entries.by_object.insert(identity.object, entry);
                self.recount(entries);
            }
            room
        })
    }

    fn recount(&self, entries: &Entries) {
        let count = entries.by_object.len();
        flags::count_kept(self.count.load(Relaxed), count);
        self.count.store(count, Relaxed);
    }

    pub fn get(&self, identity: Identity) -> Policy {
        self.read(identity, |entry| entry.policy).unwrap_or(Policy::Never)
    }

    /// Whether the policy is not `Never`.
    pub fn has(&self, identity: Identity) -> bool {
        self.read(identity, |_| ()).is_some()
    }

    /// Removes the entry at this address, after a wait for an eviction.
    pub fn purge(&self, object: usize) {
        if self.is_empty() {
            return;
        }
        let attempt = || {
            self.entries.with(|entries| {
                if entries.by_object.get(&object).is_some_and(|entry| entry.is_taken) {
                    return Some(self.gate.ticket());
                }
                entries.by_object.remove(&object);
                self.recount(entries);
                None
            })
        };
        while let Some(ticket) = attempt() {
            self.gate.wait(ticket);
        }
    }

    /// Updates the object's entry before a change from `before` to `after` becomes visible; returns whether it has one.
    pub fn follow(&self, before: Identity, after: Identity, means: Use) -> bool {
        self.entries.with(|entries| entries.follow(before, after, means))
    }

    /// Opens an access to an unchanged object; returns whether that has an entry.
    pub fn open(&self, identity: Identity) -> Result<bool, Interrupted> {
        self.entries.try_with(FOR_EVER, |entries| entries.follow(identity, identity, Use::Opens))
    }

    /// Ends an access. `Some(false)`: none is open; `None`: the object has no entry.
    pub fn end(&self, identity: Identity) -> Result<Option<bool>, Interrupted> {
        self.entries.try_with(FOR_EVER, |entries| {
            let now = entries.tick();
            let entry = entries.of(identity)?;
            let Some(left) = entry.open.checked_sub(1) else { return Some(false) };
            (entry.open, entry.last_use) = (left, now);
            Some(true)
        })
    }

    /// No use up to now is later.
    pub fn now(&self) -> u64 {
        self.entries.with(|entries| entries.clock)
    }

    /// Takes the least recently used object with a block on `side`, at least this policy and no open access, last used after
    /// `after` and not after `until`.
    pub fn take(&self, side: Side, policy: Policy, after: u64, until: u64) -> Option<Taken<'_>> {
        self.entries.with(|entries| {
            let oldest = entries
                .by_object
                .values_mut()
                .filter(|entry| entry.open == 0 && !entry.is_taken && entry.policy >= policy)
                .filter(|entry| entry.last_use > after && entry.last_use <= until)
                .filter(|entry| entry.identity.has(side))
                .min_by_key(|entry| entry.last_use)?;
            oldest.is_taken = true;
            Some(Taken { registry: self, object: oldest.identity.object, last_use: oldest.last_use })
        })
    }

    /// Puts taken entries back, in a forked child.
    pub fn forget_evictions(&self) {
        self.entries.with(|entries| entries.by_object.values_mut().for_each(|entry| entry.is_taken = false));
    }

    fn read<R>(&self, identity: Identity, read: impl FnOnce(&Entry) -> R) -> Option<R> {
        if self.is_empty() { None } else { self.entries.with(|entries| entries.of(identity).map(|entry| read(entry))) }
    }
}

impl Taken<'_> {
    /// Whether the object is still the taken one, and was not used since.
    pub fn is_unused(&self, identity: Identity) -> bool {
        self.registry.read(identity, |entry| entry.open == 0 && entry.last_use == self.last_use).unwrap_or(false)
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.registry.entries.with(|entries| {
            if let Some(entry) = entries.by_object.get_mut(&self.object) {
                entry.is_taken = false;
            }
        });
        self.registry.gate.open();
    }
}

impl Identity {
    fn has(&self, side: Side) -> bool {
        match side {
            Side::Host => self.host != 0,
            Side::Device => self.device != 0,
        }
    }
}
