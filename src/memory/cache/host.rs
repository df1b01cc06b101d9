//! Freed pageable blocks, kept whole for the next object that fits.
//!
//! Reuse saves page faults, the largest cost: to fill an idle block with zeros is faster than fresh pages (64 KiB: 0.4 us against 24;
//! 128 MiB: 1.8 ms against 6.4 with huge pages; AMD EPYC). A very large block of zeros is always fresh: an object that touches a part
//! of it would pay for all of it.
#![expect(unsafe_code, reason = "a block that came from malloc's family is freed")]

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use syncedmem_core::kind::Kind;

use super::bins::{Idle, Store, Turn};
use super::budget::{self, Peak};
use super::decay;
use crate::memory::malloc::{ALIGNMENT, SMALL, return_to_system};
use crate::memory::mapping::{MAPPED_FROM, Mapping, VERY_LARGE};
use crate::platform::clock::coarse_milliseconds;
use crate::platform::sync::{Lock, locked_static};
use crate::settings;

#[derive(Clone, Copy, Debug)]
pub enum Kept {
    Malloc(NonNull<c_void>),
    Mapped(Mapping),
}

// SAFETY: an idle block belongs to the process, not to a thread.
unsafe impl Send for Kept {}

locked_static! { static POOL: Lock<Store<Kept>> = Lock::new(Store::new()); }

/// The bytes of all idle blocks, readable without the lock.
static IDLE: AtomicU64 = AtomicU64::new(0);

fn with<R>(work: impl FnOnce(&mut Store<Kept>) -> R) -> R {
    POOL.with(|store| {
        let result = work(store);
        IDLE.store(store.bytes(), Relaxed);
        result
    })
}

static PEAK: Peak = Peak::new();

/// Fewer idle bytes than this start no trimmer.
const WATCHED_FROM: u64 = 2 << 20;

#[inline]
fn is_kept(bytes: usize) -> bool {
    bytes > SMALL && settings::keeps_pageable()
}

/// Takes an idle block, whose contents are undefined.
pub fn take(bytes: usize, zeroed: bool) -> Option<Kept> {
    if !is_kept(bytes) || is_better_new(bytes, zeroed) {
        return None;
    }
    // Smaller blocks are malloc's, one by one: programs pass them to `free()`.
    let wanted = |kept: &Kept| matches!(kept, Kept::Mapped(_)) == (bytes >= MAPPED_FROM);
    if idle() == 0 {
        return None;
    }
    with(|store| store.take(bytes, Turn::Last, wanted)).map(|idle| idle.block)
}

/// Whether filling an idle block would cost more than fresh pages.
pub fn is_better_new(bytes: usize, zeroed: bool) -> bool {
    zeroed && bytes >= VERY_LARGE
}

/// Keeps a block that an object held as one of `bytes`, or gives it back to malloc or the system.
///
/// # Safety
/// The block came from malloc's family, or is a mapping of the library's, and is not used any more.
#[inline]
pub unsafe fn free(kept: Kept, bytes: usize) {
    if !keep(kept, bytes) {
        give_back(kept);
    }
}

/// Keeps a block. `false` means that the caller must free it.
fn keep(kept: Kept, bytes: usize) -> bool {
    if !is_kept(bytes) {
        return false;
    }
    // A block above the budget would push out all others, and then itself.
    let Some(room) = room(kept, bytes) else { return false };
    let budget = budget::host(Kind::Pageable);
    if room as u64 > budget {
        return false;
    }
    let block = Idle::new(room, kept);
    if !with(|store| store.keep(block)) {
        return false;
    }
    if !settings::keeps_pageable() {
        // The thread that changed the setting may have emptied the cache before this block came.
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

/// The size of a block. `None` if it is smaller than `bytes`, or less aligned than the library's blocks.
fn room(kept: Kept, bytes: usize) -> Option<usize> {
    let room = match kept {
        Kept::Mapped(mapping) => mapping.room(),
        // An original that was inlined from an old Caffe's header allocated the block, with malloc's alignment.
        Kept::Malloc(block) if block.addr().get() % ALIGNMENT != 0 => return None,
        // SAFETY: a `Kept::Malloc` came from malloc's family and is not freed.
        Kept::Malloc(block) => unsafe { libc::malloc_usable_size(block.as_ptr()) },
    };
    // The program may have changed the object's size.
    (room >= bytes).then_some(room)
}

/// Frees the idle blocks beyond the peak of use, for a time when `in_use` bytes are in use in blocks that have `spare` bytes more.
/// Returns the largest mapping of them instead of freeing it. Below the peak it frees nothing, because each page would fault again:
/// blobs of changing shapes took up to four times as long.
pub fn surplus(in_use: u64, spare: u64) -> Option<Mapping> {
    if !settings::keeps_pageable() {
        return None;
    }
    let most = PEAK.leaves(in_use).saturating_sub(spare);
    let mut largest: Option<Mapping> = None;
    while idle() > most {
        let Some(idle) = take_oldest(|_| true) else { break };
        match idle.block {
            Kept::Mapped(mapping) if largest.is_none_or(|other| other.room() < mapping.room()) => {
                if let Some(smaller) = largest.replace(mapping) {
                    smaller.unmap();
                }
            }
            block => give_back(block),
        }
    }
    largest
}

fn may_spare(more: usize, bytes: usize, spare: u64) -> bool {
    settings::host_limit().is_none() && more <= bytes / 2 && spare + more as u64 <= PEAK.part(8)
}

/// Resizes a mapping of [`surplus`] to a block for `bytes`. Under a limit, which does not count spare bytes, the block has none.
pub fn fitted(mapping: Mapping, bytes: usize, spare: u64) -> Option<Mapping> {
    match mapping.room().checked_sub(bytes) {
        Some(more) if may_spare(more, bytes, spare) => Some(mapping),
        _ => mapping.resized(bytes),
    }
}

/// Unmaps idle mappings at exit: otherwise they would add to the memory that other libraries touch as they end. Blocks of malloc stay,
/// because the exiting thread may have been interrupted inside malloc.
pub fn leave() {
    // The exiting thread may hold the lock.
    if idle() == 0 || !POOL.is_free_within(NAPS) {
        return;
    }
    while let Some(Idle { block: Kept::Mapped(mapping), .. }) =
        take_oldest(|idle| matches!(idle.block, Kept::Mapped(_)))
    {
        mapping.unmap();
    }
}

const NAPS: u32 = 100;

/// Frees all idle blocks, and returns their bytes.
pub fn give_back_all() -> u64 {
    let mut bytes = 0;
    // Blocks that other threads keep meanwhile stay.
    let now = coarse_milliseconds();
    while let Some(idle) = take_oldest(|idle| idle.since <= now) {
        bytes += idle.bytes as u64;
        give_back(idle.block);
    }
    return_to_system();
    bytes
}

/// Frees the oldest blocks down to the budget.
pub fn reduce() {
    reduce_to(budget::host(Kind::Pageable));
}

pub fn idle() -> u64 {
    IDLE.load(Relaxed)
}

/// Frees the oldest blocks down to `bytes`.
pub fn reduce_to(bytes: u64) {
    while idle() > bytes {
        let Some(idle) = take_oldest(|_| true) else { return };
        give_back(idle.block);
    }
}

/// The function that the trimmer calls (see [`decay::Trim`]).
fn trim(most: u64) -> bool {
    let now = coarse_milliseconds();
    let is_old = |idle: &Idle<Kept>| now.saturating_sub(idle.since) > most;
    let mut was_mallocs = false;
    while let Some(idle) = take_oldest(is_old) {
        was_mallocs |= matches!(idle.block, Kept::Malloc(_));
        give_back(idle.block);
    }
    // Must be read under the lock: see `decay`.
    let is_idle = with(|store| store.bytes() > 0);
    // malloc is trimmed when the last block goes: the memory that it keeps serves the program too.
    if was_mallocs && !is_idle {
        return_to_system();
    }
    is_idle
}

fn take_oldest(wanted: impl Fn(&Idle<Kept>) -> bool) -> Option<Idle<Kept>> {
    with(|store| store.take_oldest(wanted))
}

fn give_back(kept: Kept) {
    match kept {
        Kept::Mapped(mapping) => mapping.unmap(),
        // SAFETY: `Kept::Malloc` came from malloc's family, and an idle block has no owner.
        Kept::Malloc(block) => unsafe { libc::free(block.as_ptr()) },
    }
}
