//! The table of claimed objects: the lock that an object has no room for.
//!
//! A thread that must allocate, fill or copy first claims the object's address; a second thread waits until the claim ends. No
//! lock is held during the work. A copy in flight stays parked in the entry until the next claim takes it over.
//!
//! The outcome is published and the claim ended under the shard's lock, so an entry has its object's pointers and size.
//! One with others is an earlier object's, which ended without a call to the library, and is dropped.

use std::convert::Infallible;
use std::mem::ManuallyDrop;
// Not loom's: no decision depends on it.
use std::sync::atomic::{AtomicUsize as Count, Ordering::Relaxed};

use syncedmem_trace::address_hash::hash_address;

use crate::platform::sync::{
    AtomicUsize, FOR_EVER, ForkLock, ForkStep, Gate, Interrupted, Lock, Ordering, constructor,
};
use crate::state::flags;

#[cfg(not(loom))]
const SHARDS: usize = 256;
#[cfg(loom)]
const SHARDS: usize = 1;

/// Distinguishes an object from an earlier one at the same address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The addresses of the object and of its blocks; 0 without a block.
    pub object: usize,
    pub host: usize,
    pub device: usize,
    pub size: usize,
}

#[derive(Clone, Copy)]
struct Entry<F> {
    identity: Identity,
    /// `pthread_self()` of the thread that has the claim, or `PARKED`.
    owner: usize,
    has_waiters: bool,
    in_flight: Option<F>,
}

/// No thread's `pthread_self()`.
const PARKED: usize = 0;

/// Its entries are few and short-lived. `F` describes a copy in flight.
pub struct Table<F> {
    shards: [Shard<F>; SHARDS],
}

#[repr(align(64))]
struct Shard<F> {
    entries: Lock<Vec<Entry<F>>>,
    /// `entries.len()`, readable without the lock.
    count: AtomicUsize,
    /// Number of entries with a copy in flight.
    copies: Count,
    gate: Gate,
}

pub enum Claimed<C, T> {
    Owner(C),
    /// The answer of `unless`.
    Ready(T),
}

#[derive(Debug)]
pub enum NoClaim {
    /// The calling thread has it already.
    Reentered,
    /// Another thread has it, and the caller does not block.
    Busy,
    NoRoom,
    /// The caller, a signal handler, interrupted the holder of the shard's lock.
    Interrupted,
}

/// The right to work on one object, until it is published or dropped.
pub struct Claim<'t, F: Copy> {
    shard: &'t Shard<F>,
    object: usize,
    owner: usize,
    /// A copy that is still in flight when the claim ends is parked.
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

    /// Does short `work` under the shard's lock, unless the object has an entry.
    #[inline]
    pub fn briefly<R>(&self, object: usize, work: impl FnOnce() -> R) -> Result<Option<R>, Interrupted> {
        self.shard(object).entries.try_with(FOR_EVER, |entries| {
            let taken = entries.iter().any(|entry| entry.identity.object == object);
            (!taken).then(work)
        })
    }

    pub fn under_lock<R>(&self, object: usize, work: impl FnOnce() -> R) -> Result<R, Interrupted> {
        self.shard(object).entries.try_with(FOR_EVER, |_| work())
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

    /// Claims an object unless `unless` answers: called under the shard's lock before each attempt, with whether the object has
    /// an entry.
    pub fn claim_unless<T>(
        &self,
        object: usize,
        owner: usize,
        blocking: Blocking,
        identity: impl Fn() -> Identity,
        unless: impl Fn(bool) -> Option<T>,
    ) -> Result<Claimed<Claim<'_, F>, T>, NoClaim> {
        let shard = self.shard(object);
        loop {
            let turn = shard.entries.try_with(FOR_EVER, |entries| {
                let found = entries.iter_mut().find(|entry| entry.identity.object == object);
                if let Some(answer) = unless(found.is_some()) {
                    return Ok(Turn::Unneeded(answer));
                }
                let new = Entry { identity: identity(), owner, has_waiters: false, in_flight: None };
                match found {
                    None => {
                        entries.try_reserve(1).map_err(|_| NoClaim::NoRoom)?;
                        entries.push(new);
                        shard.recount(entries);
                        Ok(Turn::Ours { in_flight: None, stale: None })
                    }
                    Some(entry) if entry.identity != new.identity => {
                        // Threads that wait for the earlier object's entry are woken with the new one's.
                        let old = std::mem::replace(entry, new);
                        entry.has_waiters = old.has_waiters;
                        shard.recount(entries);
                        Ok(Turn::Ours { in_flight: None, stale: old.in_flight })
                    }
                    Some(entry) if entry.owner == PARKED => {
                        entry.owner = owner;
                        Ok(Turn::Ours { in_flight: entry.in_flight, stale: None })
                    }
                    Some(entry) if entry.owner == owner => Err(NoClaim::Reentered),
                    Some(_) if blocking == Blocking::No => Err(NoClaim::Busy),
                    Some(entry) => {
                        entry.has_waiters = true;
                        Ok(Turn::Theirs(shard.gate.ticket()))
                    }
                }
            });
            let turn = turn.unwrap_or(Err(NoClaim::Interrupted))?;
            match turn {
                Turn::Ours { in_flight, stale } => {
                    return Ok(Claimed::Owner(Claim { shard, object, owner, in_flight, stale }));
                }
                Turn::Unneeded(answer) => return Ok(Claimed::Ready(answer)),
                Turn::Theirs(ticket) => shard.gate.wait(ticket),
            }
        }
    }

    /// Whether the object's shard is empty.
    #[inline]
    pub fn is_quiet(&self, object: usize) -> bool {
        // Relaxed: an entry of an earlier object was made before that object's storage came to the caller.
        self.shard(object).count.load(Ordering::Relaxed) == 0
    }

    /// Drops the entry of this address; returns its copy in flight, and that copy's object.
    #[inline]
    pub fn purge(&self, object: usize) -> Option<(F, Identity)> {
        if self.is_quiet(object) {
            return None;
        }
        let gone = self.shard(object).end(|entry| entry.identity.object == object, || (), |_| None).1?;
        gone.in_flight.map(|in_flight| (in_flight, gone.identity))
    }

    pub fn forget(&self) {
        self.shards.iter().for_each(|shard| {
            shard.entries.with(|entries| {
                entries.clear();
                shard.recount(entries);
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
    /// A `Claim` is made outside the lock, which its `drop` takes.
    Ours {
        in_flight: Option<F>,
        stale: Option<F>,
    },
    /// The gate's ticket.
    Theirs(u32),
    Unneeded(T),
}

impl<F: Copy> Shard<F> {
    constructor! {
        fn new() -> Self {
            Shard {
                entries: Lock::new(Vec::new()),
                count: AtomicUsize::new(0),
                copies: Count::new(0),
                gate: Gate::new(),
            }
        }
    }

    fn recount(&self, entries: &[Entry<F>]) {
        self.count.store(entries.len(), Ordering::Relaxed);
        let copies = entries.iter().filter(|entry| entry.in_flight.is_some()).count();
        flags::count_kept(self.copies.load(Relaxed), copies);
        self.copies.store(copies, Relaxed);
    }

    /// Does `outcome` under the lock, removes the entry or replaces it by `parked`, and wakes waiting threads.
    fn end<R>(
        &self,
        is_it: impl Fn(&Entry<F>) -> bool,
        outcome: impl FnOnce() -> R,
        parked: impl FnOnce(&Entry<F>) -> Option<Entry<F>>,
    ) -> (R, Option<Entry<F>>) {
        let (result, entry) = self.entries.with(|entries| {
            let result = outcome();
            let entry = entries.iter().position(is_it).map(|at| match parked(&entries[at]) {
                Some(parked) => std::mem::replace(&mut entries[at], parked),
                None => entries.swap_remove(at),
            });
            self.recount(entries);
            (result, entry)
        });
        if entry.as_ref().is_some_and(|entry| entry.has_waiters) {
            self.gate.open();
        }
        (result, entry)
    }
}

impl<F: Copy> Claim<'_, F> {
    /// Does `outcome` and ends the claim as one step. `identity` is called after `outcome`.
    pub fn publish<R>(self, outcome: impl FnOnce() -> R, identity: impl FnOnce() -> Identity) -> R {
        let claim = ManuallyDrop::new(self);
        claim.shard.end(|entry| claim.is(entry), outcome, |_| claim.parked(identity)).0
    }

    pub fn under_lock<R>(&self, change: impl FnOnce() -> R) -> R {
        self.shard.entries.with(|_| change())
    }

    fn is(&self, entry: &Entry<F>) -> bool {
        entry.identity.object == self.object && entry.owner == self.owner
    }

    fn parked(&self, identity: impl FnOnce() -> Identity) -> Option<Entry<F>> {
        self.in_flight?;
        Some(Entry { identity: identity(), owner: PARKED, has_waiters: false, in_flight: self.in_flight })
    }
}

impl<F: Copy> Drop for Claim<'_, F> {
    fn drop(&mut self) {
        // The object, and so its identity, has not changed.
        self.shard.end(|entry| self.is(entry), || (), |entry| self.parked(|| entry.identity));
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
