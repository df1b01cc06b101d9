//! Pageable blocks that were given back, kept whole for the next object that one of them fits.
//!
//! To take warm memory again saves its page faults, which cost more than everything else about a block: filled with
//! zeros it is faster than fresh pages at every size (64 KiB: 0.4 us against 24; 128 MiB: 1.8 ms against 6.4 with huge
//! pages; AMD EPYC). The largest blocks are the exception: who touches little of one would pay for all of it.
#![expect(unsafe_code, reason = "a block that came from malloc's family is freed")]

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::bins::{Idle, Store, Turn};
use super::budget::{self, Peak};
use super::decay;
use crate::memory::malloc::{ALIGNMENT, SMALL, return_to_system};
use crate::memory::mapping::{MAPPED_FROM, Mapping, VERY_LARGE};
use crate::observe::event::What;
use crate::observe::recorder::{self, NOTHING};
use crate::platform::address_hash::hash_address;
use crate::platform::clock::coarse_milliseconds;
use crate::platform::sync::{ForkLock, Lock, this_thread};
use crate::settings;
use crate::state::kind::Kind;

/// Where a block came from.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// malloc's family.
    Malloc(NonNull<c_void>),
    /// A mapping of its own.
    Mapped(Mapping),
}

// SAFETY: a block that nobody holds belongs to the process, not to a thread.
unsafe impl Send for Source {}

/// As many threads put blocks down and take them side by side.
const SHARDS: usize = 8;

/// The idle blocks of some threads; the others take of them what they do not find among their own.
#[repr(align(128))]
struct Shard {
    store: Lock<Store<Source>>,
    /// `store.bytes()`, readable without the lock.
    bytes: AtomicU64,
}

impl ForkLock for Shard {
    fn lock_for_fork(&self) {
        self.store.lock_for_fork();
    }

    fn unlock_after_fork(&self) {
        self.store.unlock_after_fork();
    }
}

impl Shard {
    const fn new(store: Lock<Store<Source>>) -> Shard {
        Shard { store, bytes: AtomicU64::new(0) }
    }

    fn with<R>(&self, work: impl FnOnce(&mut Store<Source>) -> R) -> R {
        self.store.with(|store| {
            let result = work(store);
            self.bytes.store(store.bytes(), Relaxed);
            result
        })
    }
}

#[cfg(not(loom))]
static POOL: [Shard; SHARDS] = [const { Shard::new(Lock::new(Store::new())) }; SHARDS];
#[cfg(loom)]
loom::lazy_static! {
    static ref POOL: [Shard; SHARDS] = std::array::from_fn(|_| Shard::new(Lock::new(Store::new())));
}

/// The shards that have something, this thread's own first.
fn shards() -> impl Iterator<Item = &'static Shard> {
    let own = own_shard();
    (0..SHARDS).map(move |step| &POOL[(own + step) % SHARDS]).filter(|shard| shard.bytes.load(Relaxed) > 0)
}

fn own_shard() -> usize {
    (hash_address(this_thread()) >> 32) as usize % SHARDS
}

static PEAK: Peak = Peak::new();

/// Up to this many idle bytes no thread is started to give them back when they grow old.
const WATCHED_FROM: u64 = 2 << 20;

/// Whether blocks of that size are kept here.
#[inline]
fn is_kept(bytes: usize) -> bool {
    bytes > SMALL && settings::keeps_pageable()
}

/// An idle block that fits, with any contents.
pub fn take(bytes: usize, zeroed: bool) -> Option<Source> {
    // A very large block is not filled with zeros: fresh pages are zeros that cost nothing until they are touched.
    if !is_kept(bytes) || (zeroed && bytes >= VERY_LARGE) {
        return None;
    }
    // What is not mapped must be malloc's.
    let wanted = |source: &Source| matches!(source, Source::Mapped(_)) == (bytes >= MAPPED_FROM);
    shards().find_map(|shard| shard.with(|store| store.take(bytes, Turn::Last, wanted))).map(|idle| idle.block)
}

/// Keeps a block that nobody holds any more and that an object held as one of `bytes`; `false`: it is not kept.
pub fn keep(source: Source, bytes: usize) -> bool {
    if !is_kept(bytes) {
        return false;
    }
    // One that is larger than everything may be together would drive out all others first.
    let Some(room) = room(source, bytes) else { return false };
    let budget = budget::host(Kind::Pageable);
    if room as u64 > budget {
        turned_away(room);
        return false;
    }
    let block = Idle::new(room, source);
    if !POOL[own_shard()].with(|store| store.keep(block)) {
        return false;
    }
    if !settings::keeps_pageable() {
        // Since just now. Who said so has given back what was here before.
        reduce_to(0);
        return true;
    }
    let idle = idle();
    if idle > WATCHED_FROM {
        decay::ensure_trimmer(trim);
    }
    if idle > budget {
        reduce();
    }
    true
}

/// How many bytes a block has room for, if it is as good as one of ours.
fn room(source: Source, bytes: usize) -> Option<usize> {
    let room = match source {
        Source::Mapped(mapping) => mapping.room(),
        // An inlined original's may be less aligned.
        Source::Malloc(block) if block.addr().get() % ALIGNMENT != 0 => return None,
        // SAFETY: it came from malloc's family, says who gave it back.
        Source::Malloc(block) => unsafe { libc::malloc_usable_size(block.as_ptr()) },
    };
    // An object whose size was changed behind our back may have a smaller one.
    (room >= bytes).then_some(room)
}

/// Called when `in_use` bytes are to be in use: gives back what lies idle beyond the most that were, so far.
pub fn make_room(in_use: u64) {
    if settings::keeps_pageable() {
        reduce_to(PEAK.leaves(in_use));
    }
}

/// Called before malloc is asked for a block of `bytes` that no idle one fits, after which `in_use` are to be in use: gives it
/// up to as many bytes back, the oldest first, where all would be more than the most that were in use at once. A mapping that
/// lies idle is no more than itself; an idle block of malloc's lies between others in the heap, which would grow around it.
///
/// Below that most, nothing is given back: what malloc gets it returns to the system where it can, and each page would fault
/// again. Blobs of changing shapes took up to four times as long.
pub fn make_way(bytes: usize, in_use: u64) {
    if !is_kept(bytes) {
        return;
    }
    let is_mallocs = |idle: &Idle<Source>| matches!(idle.block, Source::Malloc(_));
    let most = PEAK.leaves_in_heap(in_use);
    let mut given = 0;
    while given < bytes && idle() > most {
        let Some(idle) = take_oldest(is_mallocs) else { return };
        given += idle.bytes;
        give_back(idle.block);
    }
}

/// Called when the process exits: gives idle mappings back, for what other libraries touch as they end comes on top of them.
/// Not malloc's: the thread that exits may have been interrupted inside malloc.
pub fn leave() {
    for shard in POOL.iter().filter(|shard| shard.bytes.load(Relaxed) > 0) {
        // So may it have been in here.
        if !shard.store.is_free_within(NAPS) {
            continue;
        }
        while let Some(Idle { block: Source::Mapped(mapping), .. }) =
            shard.with(|store| store.take_oldest(|idle| matches!(idle.block, Source::Mapped(_))))
        {
            mapping.unmap();
        }
    }
}

/// How long a process that exits waits for another thread of its own in the pool, in naps.
const NAPS: u32 = 100;

/// Gives everything idle back, and says how many bytes that were.
pub fn give_back_all() -> u64 {
    let mut bytes = 0;
    // What others put down meanwhile is not waited for.
    let now = coarse_milliseconds();
    while let Some(idle) = take_oldest(|idle| idle.since <= now) {
        bytes += idle.bytes as u64;
        give_back(idle.block);
    }
    return_to_system();
    bytes
}

/// Gives back what lies idle beyond the budget.
pub fn reduce() {
    let budget = budget::host(Kind::Pageable);
    while idle() > budget {
        let Some(idle) = take_oldest(|_| true) else { return };
        turned_away(idle.bytes);
        give_back(idle.block);
    }
}

/// Tells that the budget had no room for a block.
fn turned_away(bytes: usize) {
    recorder::record(NOTHING, || What::TurnedAway { kind: Kind::Pageable, bytes: bytes as u64 });
}

/// How many bytes lie idle.
pub fn idle() -> u64 {
    POOL.iter().map(|shard| shard.bytes.load(Relaxed)).sum()
}

/// Gives the oldest blocks back until no more than so many bytes are left.
pub fn reduce_to(bytes: u64) {
    while idle() > bytes {
        let Some(idle) = take_oldest(|_| true) else { return };
        give_back(idle.block);
    }
}

/// Gives back what has been idle for longer than `most` milliseconds.
fn trim(most: u64) -> bool {
    let now = coarse_milliseconds();
    let is_old = |idle: &Idle<Source>| now.saturating_sub(idle.since) > most;
    let mut was_mallocs = false;
    while let Some(idle) = take_oldest(is_old) {
        was_mallocs |= matches!(idle.block, Source::Malloc(_));
        give_back(idle.block);
    }
    let is_idle = idle() > 0;
    // Not while the program goes on: what malloc keeps is the rest of the program's, too.
    if was_mallocs && !is_idle {
        return_to_system();
    }
    is_idle
}

/// Takes out the block that has been idle longest, of those that are `wanted`.
fn take_oldest(wanted: impl Fn(&Idle<Source>) -> bool) -> Option<Idle<Source>> {
    let shard = shards().min_by_key(|shard| shard.with(|store| store.oldest().unwrap_or(u64::MAX)))?;
    let oldest = shard.with(|store| store.take_oldest(&wanted));
    // Another thread may have been quicker: then any will do.
    oldest.or_else(|| shards().find_map(|shard| shard.with(|store| store.take_oldest(&wanted))))
}

fn give_back(source: Source) {
    match source {
        Source::Mapped(mapping) => mapping.unmap(),
        // SAFETY: it came from malloc's family, and nobody holds it.
        Source::Malloc(block) => unsafe { libc::free(block.as_ptr()) },
    }
}

/// For the table of `process`.
pub(crate) fn fork_lock() -> &'static dyn ForkLock {
    let pool: &'static [Shard; SHARDS] = &POOL;
    pool
}
