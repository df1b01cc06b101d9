//! Which objects are being worked on right now: the lock that an object has no room for.
//!
//! A thread that must allocate, fill or copy claims the object's address here first; whoever comes second
//! waits until the claim is gone. A copy that goes on after its call has returned is parked here, until somebody
//! who claims the object takes it over. No lock is held while the work is done. The outcome is published under the
//! shard's lock, together with the end of the claim, so that an entry always describes its object: pointers
//! and size as they were when it was made. One that does not was left by an earlier object at that address,
//! destroyed behind our back, and is dropped.
//!
//! Work of some nanoseconds is not worth a claim: it is done under the shard's lock, see [`Table::briefly`].

use std::mem::ManuallyDrop;

use crate::device::transfer::InFlight;
use crate::spread::spread;
use crate::sync::{AtomicUsize, Gate, Lock, Ordering};

#[cfg(not(loom))]
const SHARDS: usize = 256;
#[cfg(loom)]
const SHARDS: usize = 1;

/// What tells an object from another one that lived at the same address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Address of the object.
    pub object: usize,
    /// Address of its host block, 0 if it has none.
    pub host: usize,
    /// Address of its device block, 0 if it has none.
    pub device: usize,
    /// Its size in bytes.
    pub size: usize,
}

#[derive(Clone, Copy)]
struct Entry {
    identity: Identity,
    /// `pthread_self()` of the thread at work; `PARKED` if there is none.
    owner: usize,
    has_waiters: bool,
    in_flight: Option<InFlight>,
}

/// No thread has this name.
const PARKED: usize = 0;

/// Entries by address. Made for few entries for a short time each.
pub struct Table {
    shards: [Shard; SHARDS],
}

#[repr(align(64))]
struct Shard {
    entries: Lock<Vec<Entry>>,
    /// `entries.len()`, readable without the lock.
    count: AtomicUsize,
    gate: Gate,
}

/// Why there is no claim.
#[derive(Debug)]
pub enum NoClaim<T> {
    /// Not needed any more: `unless` answered.
    Unneeded(T),
    /// The calling thread itself is at work on the object.
    Reentered,
    /// Another thread is at work on it, and the caller does not want to wait.
    Busy,
    /// No memory for an entry.
    NoRoom,
}

/// The right to work on one object. Gone when published or dropped; what is still in flight then stays parked.
pub struct Claim<'t> {
    shard: &'t Shard,
    object: usize,
    owner: usize,
    /// The object's copy that may not be done yet.
    pub in_flight: Option<InFlight>,
    /// A copy that belonged to an earlier object at this address.
    pub stale: Option<InFlight>,
}

/// What a claim may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Until other threads are done with the object.
    Wait,
    /// Not at all.
    Refuse,
}

impl Table {
    /// A table without entries.
    #[cfg(not(loom))]
    #[expect(clippy::new_without_default, reason = "there is one, and it is a static")]
    pub const fn new() -> Self {
        Table {
            shards: [const { Shard { entries: Lock::new(Vec::new()), count: AtomicUsize::new(0), gate: Gate::new() } };
                SHARDS],
        }
    }

    /// A table without entries.
    #[cfg(loom)]
    pub fn new() -> Self {
        let shard = |_| Shard { entries: Lock::new(Vec::new()), count: AtomicUsize::new(0), gate: Gate::new() };
        Table { shards: std::array::from_fn(shard) }
    }

    /// Does `work` under the lock that publishing takes, unless somebody is at work on the object.
    /// For work that takes no longer than to make a claim and end it.
    #[inline]
    pub fn briefly<R>(&self, object: usize, work: impl FnOnce() -> R) -> Option<R> {
        self.shard(object).entries.with(|entries| {
            let taken = entries.iter().any(|entry| entry.identity.object == object);
            (!taken).then(work)
        })
    }

    /// Claims an object for the calling thread, `owner`. While another thread is at work on it, waits;
    /// each time before claiming, `unless`, which is told whether there is an entry, may find that there is nothing
    /// left to do. Both closures are asked under the lock that publishing takes.
    pub fn claim<T>(
        &self,
        object: usize,
        owner: usize,
        patience: Patience,
        identity: impl Fn() -> Identity,
        unless: impl Fn(bool) -> Option<T>,
    ) -> Result<Claim<'_>, NoClaim<T>> {
        let shard = self.shard(object);
        loop {
            let turn = shard.entries.with(|entries| {
                let found = entries.iter_mut().find(|entry| entry.identity.object == object);
                if let Some(answer) = unless(found.is_some()) {
                    return Err(NoClaim::Unneeded(answer));
                }
                let new = Entry { identity: identity(), owner, has_waiters: false, in_flight: None };
                match found {
                    None => {
                        entries.try_reserve(1).map_err(|_| NoClaim::NoRoom)?;
                        entries.push(new);
                        shard.count.store(entries.len(), Ordering::Relaxed);
                        Ok(Turn::Ours { in_flight: None, stale: None })
                    }
                    Some(entry) if entry.identity != new.identity => {
                        // Whoever waits for the earlier object's entry looks again.
                        let old = std::mem::replace(entry, new);
                        entry.has_waiters = old.has_waiters;
                        Ok(Turn::Ours { in_flight: None, stale: old.in_flight })
                    }
                    Some(entry) if entry.owner == PARKED => {
                        entry.owner = owner;
                        Ok(Turn::Ours { in_flight: entry.in_flight, stale: None })
                    }
                    Some(entry) if entry.owner == owner => Err(NoClaim::Reentered),
                    Some(_) if patience == Patience::Refuse => Err(NoClaim::Busy),
                    Some(entry) => {
                        entry.has_waiters = true;
                        Ok(Turn::Theirs(shard.gate.ticket()))
                    }
                }
            })?;
            match turn {
                Turn::Ours { in_flight, stale } => return Ok(Claim { shard, object, owner, in_flight, stale }),
                Turn::Theirs(ticket) => shard.gate.wait(ticket),
            }
        }
    }

    /// Whether no entry can be this object's: all that constructors and destructors ask as a rule.
    #[inline]
    pub fn is_quiet(&self, object: usize) -> bool {
        // Relaxed: an entry of an earlier object was made before that object's storage came to the caller.
        self.shard(object).count.load(Ordering::Relaxed) == 0
    }

    /// Drops the entry of this address, for constructors and destructors, and returns its copy in flight with the
    /// identity of the object that it was started for.
    #[inline]
    pub fn purge(&self, object: usize) -> Option<(InFlight, Identity)> {
        if self.is_quiet(object) {
            return None;
        }
        let gone = self.shard(object).publish(|entry| entry.identity.object == object, || ()).1?;
        gone.in_flight.map(|in_flight| (in_flight, gone.identity))
    }

    /// Holds every entry still, until `release`: for fork.
    pub fn acquire(&self) {
        for shard in &self.shards {
            shard.entries.acquire();
        }
    }

    /// Ends `acquire`.
    pub fn release(&self) {
        self.shards.iter().for_each(|shard| shard.entries.release());
    }

    /// Forgets every entry: in a forked child, where the threads that made them do not exist.
    pub fn forget(&self) {
        self.shards.iter().for_each(|shard| {
            shard.entries.with(Vec::clear);
            shard.count.store(0, Ordering::Relaxed);
        });
    }

    #[inline]
    fn shard(&self, object: usize) -> &Shard {
        // Objects are at least 32 bytes apart.
        &self.shards[(spread(object >> 5) >> 32) as usize % SHARDS]
    }
}

/// Whose turn it is.
enum Turn {
    /// The caller's, with what becomes the claim's. (The claim itself is made outside the lock, which it takes.)
    Ours { in_flight: Option<InFlight>, stale: Option<InFlight> },
    /// Another thread's; what to wait with.
    Theirs(u32),
}

impl Shard {
    /// Does `outcome` and removes the entry as one step for everybody who takes the lock, then wakes who waited.
    fn publish<R>(&self, is_it: impl Fn(&Entry) -> bool, outcome: impl FnOnce() -> R) -> (R, Option<Entry>) {
        let (result, entry) = self.entries.with(|entries| {
            let result = outcome();
            let entry = entries.iter().position(is_it).map(|at| entries.swap_remove(at));
            self.count.store(entries.len(), Ordering::Relaxed);
            (result, entry)
        });
        if entry.as_ref().is_some_and(|entry| entry.has_waiters) {
            self.gate.open();
        }
        (result, entry)
    }

    /// The same, but the entry stays, parked with a copy in flight, for the object as `outcome` leaves it.
    fn park<R>(
        &self,
        is_it: impl Fn(&Entry) -> bool,
        in_flight: InFlight,
        outcome: impl FnOnce() -> R,
        identity: impl FnOnce() -> Identity,
    ) -> R {
        let (result, had_waiters) = self.entries.with(|entries| {
            let result = outcome();
            let parked = Entry { identity: identity(), owner: PARKED, has_waiters: false, in_flight: Some(in_flight) };
            let entry = entries.iter_mut().find(|entry| is_it(entry));
            (result, entry.is_some_and(|entry| std::mem::replace(entry, parked).has_waiters))
        });
        if had_waiters {
            self.gate.open();
        }
        result
    }
}

impl Claim<'_> {
    /// Makes the outcome visible and ends the claim. What is in flight stays parked, with the object's identity as the
    /// outcome leaves it.
    pub fn publish<R>(self, outcome: impl FnOnce() -> R, identity: impl FnOnce() -> Identity) -> R {
        let claim = ManuallyDrop::new(self);
        match claim.in_flight {
            None => claim.shard.publish(|entry| claim.is(entry), outcome).0,
            Some(in_flight) => claim.shard.park(|entry| claim.is(entry), in_flight, outcome, identity),
        }
    }

    /// Does `change` as one step for everybody who takes the lock; the claim goes on.
    pub fn under_lock<R>(&self, change: impl FnOnce() -> R) -> R {
        self.shard.entries.with(|_| change())
    }

    fn is(&self, entry: &Entry) -> bool {
        entry.identity.object == self.object && entry.owner == self.owner
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let had_waiters = self.shard.entries.with(|entries| {
            let at = entries.iter().position(|entry| self.is(entry))?;
            let waiters = entries[at].has_waiters;
            if self.in_flight.is_some() {
                // The object is as it was.
                entries[at] = Entry { owner: PARKED, has_waiters: false, in_flight: self.in_flight, ..entries[at] };
            } else {
                entries.swap_remove(at);
            }
            self.shard.count.store(entries.len(), Ordering::Relaxed);
            Some(waiters)
        });
        if had_waiters == Some(true) {
            self.shard.gate.open();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const FIRST: Identity = Identity { object: 0x1000, host: 0, device: 0, size: 8 };
    const SECOND: Identity = Identity { size: 16, ..FIRST };

    fn claim(table: &Table, owner: usize, identity: Identity) -> Result<Claim<'_>, NoClaim<()>> {
        table.claim(identity.object, owner, Patience::Wait, || identity, |_| None)
    }

    fn entries(table: &Table) -> usize {
        table.shards.iter().map(|shard| shard.entries.with(|entries| entries.len())).sum()
    }

    #[test]
    fn a_claim_lasts_until_it_is_published_or_dropped() {
        let table = Table::new();
        let first = claim(&table, 1, FIRST).expect("nobody else is there");
        assert_eq!(entries(&table), 1);
        first.publish(|| assert_eq!(table.shard(FIRST.object).count.load(Ordering::Relaxed), 1), || FIRST);
        assert_eq!(entries(&table), 0);
        drop(claim(&table, 1, FIRST));
        assert_eq!(entries(&table), 0);
    }

    #[test]
    fn brief_work_is_not_done_while_somebody_is_at_work_on_the_object() {
        let table = Table::new();
        let first = claim(&table, 1, FIRST).expect("nobody else is there");
        assert_eq!(table.briefly(FIRST.object, || 42), None);
        drop(first);
        assert_eq!(table.briefly(FIRST.object, || 42), Some(42));
    }

    #[test]
    fn a_thread_that_claims_twice_is_told_so_instead_of_waiting_for_itself() {
        let table = Table::new();
        let _first = claim(&table, 1, FIRST).expect("nobody else is there");
        assert!(matches!(claim(&table, 1, FIRST), Err(NoClaim::Reentered)));
    }

    #[test]
    fn an_entry_that_does_not_match_the_object_is_dropped_never_applied() {
        let table = Table::new();
        std::mem::forget(claim(&table, 1, FIRST).expect("nobody else is there"));
        let second = claim(&table, 2, SECOND).expect("the entry of the earlier object does not count");
        assert_eq!(entries(&table), 1);
        drop(second);
        assert_eq!(entries(&table), 0);
    }

    #[test]
    fn a_purge_drops_the_entry_of_that_address_alone() {
        let table = Table::new();
        let elsewhere = Identity { object: FIRST.object + 32, ..FIRST };
        std::mem::forget(claim(&table, 1, FIRST).expect("nobody else is there"));
        std::mem::forget(claim(&table, 1, elsewhere).expect("nobody else is there"));
        assert!(table.purge(FIRST.object).is_none());
        assert_eq!(entries(&table), 1);
        assert!(matches!(claim(&table, 1, elsewhere), Err(NoClaim::Reentered)));
    }

    #[test]
    fn a_forked_child_forgets_what_its_parents_threads_were_doing() {
        let table = Table::new();
        std::mem::forget(claim(&table, 1, FIRST).expect("nobody else is there"));
        table.acquire();
        table.release();
        table.forget();
        drop(claim(&table, 2, FIRST).expect("nothing is left"));
    }

    #[test]
    fn the_second_comer_waits_and_finds_the_work_done() {
        let table = Table::new();
        let done = std::sync::atomic::AtomicBool::new(false);
        let first = claim(&table, 1, FIRST).expect("nobody else is there");
        std::thread::scope(|threads| {
            let done = &done;
            let answer = move |_| done.load(Ordering::Relaxed).then_some(42);
            let table = &table;
            let second = threads.spawn(move || table.claim(FIRST.object, 2, Patience::Wait, || FIRST, answer).err());
            while !table.shard(FIRST.object).entries.with(|entries| entries[0].has_waiters) {
                std::thread::yield_now();
            }
            first.publish(|| done.store(true, Ordering::Relaxed), || FIRST);
            assert!(matches!(second.join(), Ok(Some(NoClaim::Unneeded(42)))));
        });
    }
}
