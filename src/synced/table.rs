//! Which objects are being worked on right now: the lock that an object has no room for.
//!
//! A thread that must allocate, fill or copy claims the object's address here first; whoever comes second
//! waits until the claim is gone. No lock is held while the work is done. The outcome is published under the
//! shard's lock, together with the end of the claim, so that an entry always describes its object: pointers
//! and size as they were when it was made. One that does not was left by an earlier object at that address,
//! destroyed behind our back, and is dropped.

use crate::sync::{AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, lock, wait};

#[cfg(not(loom))]
const SHARDS: usize = 64;
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

struct Entry {
    identity: Identity,
    /// `pthread_self()` of the thread at work.
    owner: usize,
    waiters: usize,
}

/// Entries by address. Made for few entries for a short time each.
pub struct Table {
    shards: [Shard; SHARDS],
}

#[repr(align(64))]
struct Shard {
    entries: Mutex<Vec<Entry>>,
    /// `entries.len()`, readable without the lock.
    count: AtomicUsize,
    gone: Condvar,
}

/// Why there is no claim.
#[derive(Debug)]
pub enum NoClaim<T> {
    /// Not needed any more: `unless` answered.
    Unneeded(T),
    /// The calling thread itself is at work on the object.
    Reentered,
    /// No memory for an entry.
    NoRoom,
}

/// The right to work on one object. Gone when published or dropped.
pub struct Claim<'t> {
    shard: &'t Shard,
    object: usize,
    owner: usize,
}

impl Table {
    /// A table without entries.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Table {
            shards: [const { Shard { entries: Mutex::new(Vec::new()), count: AtomicUsize::new(0), gone: Condvar::new() } };
                SHARDS],
        }
    }

    #[cfg(loom)]
    pub fn new() -> Self {
        Table {
            shards: std::array::from_fn(|_| Shard {
                entries: Mutex::new(Vec::new()),
                count: AtomicUsize::new(0),
                gone: Condvar::new(),
            }),
        }
    }

    /// Claims an object for the calling thread, `owner`. While another thread is at work on it, waits;
    /// each time before claiming, `unless` may find that there is nothing left to do.
    /// `identity` is asked under the lock that publishing takes.
    pub fn claim<T>(
        &self,
        object: usize,
        owner: usize,
        identity: impl Fn() -> Identity,
        unless: impl Fn() -> Option<T>,
    ) -> Result<Claim<'_>, NoClaim<T>> {
        let shard = self.shard(object);
        let mut entries = lock(&shard.entries);
        loop {
            if let Some(answer) = unless() {
                return Err(NoClaim::Unneeded(answer));
            }
            let Some(at) = entries.iter().position(|entry| entry.identity.object == object) else {
                entries.try_reserve(1).map_err(|_| NoClaim::NoRoom)?;
                entries.push(Entry { identity: identity(), owner, waiters: 0 });
                shard.count.store(entries.len(), Ordering::Relaxed);
                return Ok(Claim { shard, object, owner });
            };
            let entry = &mut entries[at];
            if entry.identity != identity() {
                shard.remove(&mut entries, at);
            } else if entry.owner == owner {
                return Err(NoClaim::Reentered);
            } else {
                entry.waiters += 1;
                entries = wait(&shard.gone, entries);
            }
        }
    }

    /// Drops what an earlier object at this address left behind: for constructors and destructors.
    pub fn purge(&self, object: usize) {
        let shard = self.shard(object);
        // Relaxed: an entry of an earlier object was made before that object's storage came to the caller.
        if shard.count.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut entries = lock(&shard.entries);
        if let Some(at) = entries.iter().position(|entry| entry.identity.object == object) {
            shard.remove(&mut entries, at);
        }
    }

    /// Holds every entry still, for as long as the guards live.
    pub fn hold(&self) -> Stillness<'_> {
        std::array::from_fn(|i| Held { shard: &self.shards[i], entries: lock(&self.shards[i].entries) })
    }

    fn shard(&self, object: usize) -> &Shard {
        // Objects are at least 32 bytes apart; the multiplier is 2^64 divided by the golden ratio.
        let hash = (object >> 5).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        &self.shards[(hash >> 32) % SHARDS]
    }
}

/// All shards, held still.
pub type Stillness<'t> = [Held<'t>; SHARDS];

/// One shard, held still.
pub struct Held<'t> {
    shard: &'t Shard,
    entries: MutexGuard<'t, Vec<Entry>>,
}

impl Held<'_> {
    /// Forgets every entry: in a forked child, where the threads that made them do not exist.
    pub fn forget(&mut self) {
        self.entries.clear();
        self.shard.count.store(0, Ordering::Relaxed);
    }
}

impl Shard {
    fn remove(&self, entries: &mut Vec<Entry>, at: usize) {
        let entry = entries.swap_remove(at);
        self.count.store(entries.len(), Ordering::Relaxed);
        if entry.waiters > 0 {
            self.gone.notify_all();
        }
    }
}

impl Claim<'_> {
    /// Makes the outcome visible and ends the claim, as one step for everybody who takes the shard's lock.
    pub fn publish<R>(self, outcome: impl FnOnce() -> R) -> R {
        let mut entries = lock(&self.shard.entries);
        let result = outcome();
        self.end(&mut entries);
        std::mem::forget(self);
        result
    }

    fn end(&self, entries: &mut Vec<Entry>) {
        let own = |entry: &Entry| entry.identity.object == self.object && entry.owner == self.owner;
        if let Some(at) = entries.iter().position(own) {
            self.shard.remove(entries, at);
        }
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.end(&mut lock(&self.shard.entries));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const FIRST: Identity = Identity { object: 0x1000, host: 0, device: 0, size: 8 };
    const SECOND: Identity = Identity { size: 16, ..FIRST };

    fn claim(table: &Table, owner: usize, identity: Identity) -> Result<Claim<'_>, NoClaim<()>> {
        table.claim(identity.object, owner, || identity, || None)
    }

    fn entries(table: &Table) -> usize {
        table.hold().iter().map(|shard| shard.entries.len()).sum()
    }

    #[test]
    fn a_claim_lasts_until_it_is_published_or_dropped() {
        let table = Table::new();
        let first = claim(&table, 1, FIRST).expect("nobody else is there");
        assert_eq!(entries(&table), 1);
        first.publish(|| assert_eq!(table.shard(FIRST.object).count.load(Ordering::Relaxed), 1));
        assert_eq!(entries(&table), 0);
        drop(claim(&table, 1, FIRST));
        assert_eq!(entries(&table), 0);
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
        table.purge(FIRST.object);
        assert_eq!(entries(&table), 1);
        assert!(matches!(claim(&table, 1, elsewhere), Err(NoClaim::Reentered)));
    }

    #[test]
    fn a_forked_child_forgets_what_its_parents_threads_were_doing() {
        let table = Table::new();
        std::mem::forget(claim(&table, 1, FIRST).expect("nobody else is there"));
        table.hold().iter_mut().for_each(Held::forget);
        drop(claim(&table, 2, FIRST).expect("nothing is left"));
    }

    #[test]
    fn the_second_comer_waits_and_finds_the_work_done() {
        let table = Table::new();
        let done = std::sync::atomic::AtomicBool::new(false);
        let first = claim(&table, 1, FIRST).expect("nobody else is there");
        std::thread::scope(|threads| {
            let answer = || done.load(Ordering::Relaxed).then_some(42);
            let second = threads.spawn(|| table.claim(FIRST.object, 2, || FIRST, answer).err());
            while lock(&table.shard(FIRST.object).entries)[0].waiters == 0 {
                std::thread::yield_now();
            }
            first.publish(|| done.store(true, Ordering::Relaxed));
            assert!(matches!(second.join(), Ok(Some(NoClaim::Unneeded(42)))));
        });
    }
}
