//! The table of objects. It has the lock and the state that do not fit into an object's 32 bytes.
//!
//! A thread that must allocate, fill or copy first claims the object's entry; a second thread waits until the claim ends. No lock
//! is held during the work. The entry keeps a copy in flight, tensors and a share; an entry that keeps none of them is removed
//! with the claim.
//!
//! One step under the shard's lock publishes the outcome and ends the claim, so an entry has its object's pointers and size.
//! Addresses are reused: an entry with other pointers or another size belongs to an earlier object ([`Entry::is_of`]), and is dropped.

use std::convert::Infallible;
use std::mem::ManuallyDrop;

use syncedmem_core::address_hash::{AddressMap, address_map, hash_address};

use super::entry::NO_THREAD;
pub use super::entry::{Entry, Identity};
use crate::platform::sync::{FOR_EVER, ForkLock, ForkStep, Gate, Interrupted, Lock, constructor};

#[cfg(not(loom))]
const SHARDS: usize = 128;
#[cfg(loom)]
const SHARDS: usize = 1;

type Entries<F> = AddressMap<Entry<F>>;

/// `F` describes a copy in flight.
pub struct Table<F> {
    shards: [Shard<F>; SHARDS],
}

#[repr(align(64))]
struct Shard<F> {
    entries: Lock<Entries<F>>,
    /// Opens at the end of a claim for which threads wait.
    gate: Gate,
}

pub enum Claimed<C, T> {
    Owner(C),
    /// The answer of `unless`.
    Ready(T),
}

#[derive(Debug)]
pub enum NoClaim {
    /// The calling thread has the claim already.
    Reentered,
    /// Another thread has the claim, and the caller does not block.
    Busy,
    NoRoom,
    /// The caller is a signal handler, which interrupted the thread that holds the shard's lock.
    Interrupted,
}

/// The right to work on one object, until it is published or dropped.
pub struct Claim<'t, F: Copy> {
    shard: &'t Shard<F>,
    object: usize,
    owner: usize,
    /// A copy that is still in flight when the claim ends stays in the entry.
    pub in_flight: Option<F>,
    /// A copy of an earlier object at this address.
    pub stale: Option<F>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocking {
    Yes,
    No,
}

impl<F: Send> ForkLock for Table<F> {
    fn at_fork(&self, step: ForkStep) {
        self.shards.iter().for_each(|shard| shard.entries.at_fork(step));
    }
}

impl<F: Copy> Table<F> {
    #[cfg(not(loom))]
    #[expect(clippy::new_without_default, reason = "there is one, and it is a static")]
    pub const fn new() -> Self {
        Table { shards: [const { Shard::new() }; SHARDS] }
    }

    #[cfg(loom)]
    pub fn new() -> Self {
        Table { shards: std::array::from_fn(|_| Shard::new()) }
    }

    /// Does short `work` under the shard's lock, unless the address has an entry.
    #[inline]
    pub fn unless_known<R>(&self, object: usize, work: impl FnOnce() -> R) -> Result<Option<R>, Interrupted> {
        self.shard(object).entries.try_with(FOR_EVER, |entries| (!entries.contains_key(&object)).then(work))
    }

    /// Does short `work` under the shard's lock, with the object's entry if it has one. Calls `identity` under that lock.
    pub fn with<R>(
        &self,
        object: usize,
        identity: impl FnOnce() -> Identity,
        work: impl FnOnce(Option<&mut Entry<F>>) -> R,
    ) -> Result<R, Interrupted> {
        self.at(object, |entry| {
            let now = identity();
            work(entry.filter(|entry| entry.is_of(now)))
        })
    }

    /// [`Self::with`], even if the entry belongs to an earlier object at the address.
    pub fn at<R>(&self, object: usize, work: impl FnOnce(Option<&mut Entry<F>>) -> R) -> Result<R, Interrupted> {
        self.shard(object).entries.try_with(FOR_EVER, |entries| {
            let result = work(entries.get_mut(&object));
            drop_unneeded(entries, object);
            result
        })
    }

    /// Claims an object for the calling thread, `owner`. Calls `identity` under the shard's lock.
    pub fn claim(
        &self,
        object: usize,
        owner: usize,
        blocking: Blocking,
        identity: impl Fn() -> Identity,
    ) -> Result<Claim<'_, F>, NoClaim> {
        match self.claim_unless(object, owner, blocking, identity, |_| None::<Infallible>)? {
            Claimed::Owner(claim) => Ok(claim),
            Claimed::Ready(never) => match never {},
        }
    }

    /// Claims an object unless `unless` answers. The table calls `unless` under the shard's lock before each attempt, with the
    /// object's entry if there is one.
    pub fn claim_unless<T>(
        &self,
        object: usize,
        owner: usize,
        blocking: Blocking,
        identity: impl Fn() -> Identity,
        unless: impl Fn(Option<&mut Entry<F>>) -> Option<T>,
    ) -> Result<Claimed<Claim<'_, F>, T>, NoClaim> {
        let shard = self.shard(object);
        loop {
            let turn = shard.entries.try_with(FOR_EVER, |entries| {
                let now = identity();
                if let Some(answer) = unless(entries.get_mut(&object).filter(|entry| entry.is_of(now))) {
                    return Ok(Turn::Unneeded(answer));
                }
                entries.try_reserve(1).map_err(|_| NoClaim::NoRoom)?;
                let (entry, stale) = enter(entries, now);
                if entry.owner == NO_THREAD {
                    entry.owner = owner;
                    Ok(Turn::Ours { in_flight: entry.in_flight, stale })
                } else if entry.owner == owner {
                    Err(NoClaim::Reentered)
                } else if blocking == Blocking::No {
                    Err(NoClaim::Busy)
                } else {
                    entry.has_waiters = true;
                    Ok(Turn::Theirs(shard.gate.ticket()))
                }
            });
            match turn.unwrap_or(Err(NoClaim::Interrupted))? {
                Turn::Ours { in_flight, stale } => {
                    return Ok(Claimed::Owner(Claim { shard, object, owner, in_flight, stale }));
                }
                Turn::Unneeded(answer) => return Ok(Claimed::Ready(answer)),
                Turn::Theirs(ticket) => shard.gate.wait(ticket),
            }
        }
    }

    /// Whether this object, or an earlier one at the address, has an entry. True if the caller interrupted the thread that holds the
    /// lock.
    #[inline]
    pub fn has(&self, object: usize) -> bool {
        self.shard(object).entries.try_with(FOR_EVER, |entries| entries.contains_key(&object)).unwrap_or(true)
    }

    /// Removes the entry of this address.
    pub fn remove(&self, object: usize) -> Option<Entry<F>> {
        let shard = self.shard(object);
        let entry = shard.entries.with(|entries| entries.remove(&object));
        shard.wake(entry.as_ref().is_some_and(|entry| entry.has_waiters));
        entry
    }

    /// Forgets, in a forked child, copies in flight and the claims of threads that only the parent has. `survivor`, the thread that
    /// forked, keeps its claims: a function of the program that is called under a claim may fork.
    pub fn forget_work(&self, survivor: usize) {
        self.shards.iter().for_each(|shard| {
            shard.entries.with(|entries| {
                entries.retain(|_, entry| {
                    entry.in_flight = None;
                    if entry.owner != survivor {
                        entry.owner = NO_THREAD;
                    }
                    entry.is_claimed() || entry.keeps()
                });
            });
        });
    }

    #[inline]
    fn shard(&self, object: usize) -> &Shard<F> {
        // Objects are at least 32 bytes apart.
        &self.shards[(hash_address(object >> 5) >> 32) as usize % SHARDS]
    }
}

enum Turn<F, T> {
    /// The caller makes the `Claim` outside the lock, because its `drop` takes the lock.
    Ours {
        in_flight: Option<F>,
        stale: Option<F>,
    },
    /// The gate's ticket.
    Theirs(u32),
    Unneeded(T),
}

/// Returns the object's entry, or a new one, for which the caller has reserved memory, and the copy in flight of an earlier object.
fn enter<F>(entries: &mut Entries<F>, now: Identity) -> (&mut Entry<F>, Option<F>) {
    let entry = entries.entry(now.object).or_insert_with(|| Entry::new(now));
    if entry.is_of(now) {
        return (entry, None);
    }
    let old = std::mem::replace(entry, Entry::new(now));
    // The end of a claim of the new entry wakes threads that wait for the old one.
    entry.has_waiters = old.has_waiters;
    entry.tensors.inherit(old.tensors);
    // Its memory is never freed, because the caller holds the lock. Objects that share end by a call of the library.
    std::mem::forget(old.parked);
    (entry, old.in_flight)
}

fn drop_unneeded<F>(entries: &mut Entries<F>, object: usize) {
    if entries.get(&object).is_some_and(|entry| !entry.is_claimed() && !entry.keeps()) {
        entries.remove(&object);
    }
}

impl<F: Copy> Shard<F> {
    constructor! {
        fn new() -> Self {
            Shard { entries: Lock::new(address_map()), gate: Gate::new() }
        }
    }

    fn wake(&self, has_waiters: bool) {
        if has_waiters {
            self.gate.open();
        }
    }
}

impl<F: Copy> Claim<'_, F> {
    /// Does `outcome` and ends the claim in one step. Calls `identity` after `outcome`.
    pub fn publish<R>(self, outcome: impl FnOnce(&mut Entry<F>) -> R, identity: impl FnOnce() -> Identity) -> R {
        let claim = ManuallyDrop::new(self);
        claim.end(|entry| {
            let result = outcome(entry);
            entry.identity = identity();
            result
        })
    }

    /// Does short `change` under the shard's lock. If another thread has ended the object, and with it the entry, `change` is lost.
    pub fn with<R>(&self, change: impl FnOnce(&mut Entry<F>) -> R) -> R {
        self.shard.entries.with(|entries| match self.entry(entries) {
            Some(entry) => change(entry),
            None => change(&mut self.lost()),
        })
    }

    fn end<R>(&self, work: impl FnOnce(&mut Entry<F>) -> R) -> R {
        let (result, has_waiters) = self.shard.entries.with(|entries| {
            let Some(entry) = self.entry(entries) else { return (work(&mut self.lost()), false) };
            entry.in_flight = self.in_flight;
            let result = work(entry);
            entry.owner = NO_THREAD;
            let has_waiters = std::mem::take(&mut entry.has_waiters);
            drop_unneeded(entries, self.object);
            (result, has_waiters)
        });
        self.shard.wake(has_waiters);
        result
    }

    fn entry<'e>(&self, entries: &'e mut Entries<F>) -> Option<&'e mut Entry<F>> {
        entries.get_mut(&self.object).filter(|entry| entry.owner == self.owner)
    }

    fn lost(&self) -> Entry<F> {
        Entry::new(Identity { object: self.object, host: 0, device: 0, size: 0, is_slow: false })
    }
}

impl<F: Copy> Drop for Claim<'_, F> {
    fn drop(&mut self) {
        // The object has not changed.
        self.end(|_| {});
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
