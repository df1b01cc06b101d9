//! The account in figures.
#![expect(unsafe_code, reason = "C functions")]

use std::mem::offset_of;

use super::call;
use crate::abi::status::syncedmem_status_t;
use crate::error::Error;
use crate::memory::host_usage;
use crate::object::trim;
use crate::observe::account::{Account, Sum};
use crate::observe::event::Path;
use crate::observe::recorder;
use crate::settings;
use crate::state::flags;
use crate::state::head::{Access, Side};
use crate::state::kind::Kind;

/// A number of like things, their bytes, and the time that they took. It never grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct syncedmem_sum_t {
    /// How many.
    pub count: u64,
    /// Bytes in all.
    pub bytes: u64,
    /// Nanoseconds in all; 0 where that is not measured.
    pub nanoseconds: u64,
}

/// One kind of memory, in bytes. It never grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct syncedmem_memory_stats_t {
    /// Bytes that objects hold now. Known without accounting too; pageable blocks of up to 4 KiB are not counted then. The
    /// page-locked slots for staged copies, which no object holds, are not among them.
    pub live: u64,
    /// The most that was since accounting began, or since `syncedmem_reset_peaks`.
    pub peak: u64,
    /// Bytes that lie idle, for the next object. Known without accounting too.
    pub idle: u64,
    /// Bytes that may lie idle. Known without accounting too.
    pub budget: u64,
    /// Blocks that came from the system or the driver.
    pub allocations: syncedmem_sum_t,
    /// Blocks that came from the pool.
    pub pool_hits: syncedmem_sum_t,
    /// Blocks that objects gave back.
    pub frees: syncedmem_sum_t,
    /// Blocks that a budget turned away: not kept for the next object, or not page-locked.
    pub turned_away: syncedmem_sum_t,
}

/// What was accounted for so far. New members come at the end: `size` says which are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct syncedmem_stats_t {
    /// Set by the caller to `sizeof(syncedmem_stats_t)`; set to how many bytes were written.
    pub size: usize,
    /// Pageable host memory.
    pub pageable: syncedmem_memory_stats_t,
    /// Page-locked host memory.
    pub pinned: syncedmem_memory_stats_t,
    /// Device memory.
    pub device: syncedmem_memory_stats_t,
    /// Copies from page-locked memory to the device. Of a push the time is what its call took.
    pub to_device_pinned: syncedmem_sum_t,
    /// Copies from pageable memory to the device through page-locked slots.
    pub to_device_staged: syncedmem_sum_t,
    /// Copies from pageable memory to the device by the driver.
    pub to_device_pageable: syncedmem_sum_t,
    /// Copies from the device to page-locked memory. Of a pull the time is what its call took.
    pub to_host_pinned: syncedmem_sum_t,
    /// Copies from the device to pageable memory through page-locked slots.
    pub to_host_staged: syncedmem_sum_t,
    /// Copies from the device to pageable memory by the driver.
    pub to_host_pageable: syncedmem_sum_t,
    /// Host sides that were filled with zeros; of fresh pages from the system the time is 0.
    pub host_fills: syncedmem_sum_t,
    /// Device sides that were filled with zeros.
    pub device_fills: syncedmem_sum_t,
    /// Waits for copies in flight.
    pub waits: syncedmem_sum_t,
    /// Contexts that were waited for before a block was handed out again, evicted, or unlocked.
    pub synchronises: syncedmem_sum_t,
    /// Pageable memory that was page-locked where it is.
    pub registrations: syncedmem_sum_t,
    /// Host sides that were given back to make room.
    pub host_evictions: syncedmem_sum_t,
    /// Device sides that were given back to make room.
    pub device_evictions: syncedmem_sum_t,
    /// Allocations for the host that failed.
    pub host_failures: syncedmem_sum_t,
    /// Allocations for the device that failed.
    pub device_failures: syncedmem_sum_t,
    /// Objects that came to be.
    pub objects_made: u64,
    /// Those of them that were first noticed at an access.
    pub objects_unseen: u64,
    /// Objects that were destroyed.
    pub objects_ended: u64,
    /// Accesses to the host to read, to write, and to overwrite: those that needed something, or, where every access is
    /// counted, all of them.
    pub host_reads: u64,
    /// As `host_reads`.
    pub host_writes: u64,
    /// As `host_reads`.
    pub host_overwrites: u64,
    /// Accesses to the device, likewise.
    pub device_reads: u64,
    /// As `device_reads`.
    pub device_writes: u64,
    /// As `device_reads`.
    pub device_overwrites: u64,
    /// How many things were not counted: for want of memory, since a signal handler came in between, or, of accesses, since
    /// another thread had the books for longer than 0.1 seconds (as during a slow fork).
    pub dropped: u64,
}

/// Writes what was accounted for so far to `*stats`, whose `size` the caller has set to `sizeof(syncedmem_stats_t)`: as
/// many bytes of it as the library knows, and that many is its `size` then. Without accounting, what is live, idle and
/// may be idle is told, and zeros.
///
/// Errors: `INVALID_ARGUMENT` (NULL or misaligned; `size` is too small for its first member of memory).
///
/// # Safety
/// `stats` is NULL or readable and writable for `size` bytes, which are at least those of `size` itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_stats(stats: *mut syncedmem_stats_t) -> syncedmem_status_t {
    call("syncedmem_stats", || {
        if stats.is_null() || !stats.is_aligned() {
            return Err(Error::InvalidArgument {
                what: "stats is NULL or misaligned; pass the address of a syncedmem_stats_t",
            });
        }
        const _: () = assert!(offset_of!(syncedmem_stats_t, size) == 0);
        // SAFETY: not null, aligned, and so much of it readable, says the caller.
        let size = unsafe { stats.cast::<usize>().read() };
        if size < offset_of!(syncedmem_stats_t, pinned) {
            return Err(Error::InvalidArgument {
                what: "stats->size is too small; set it to sizeof(syncedmem_stats_t) before the call",
            });
        }
        let size = size.min(size_of::<syncedmem_stats_t>());
        let now = syncedmem_stats_t { size, ..now() };
        // SAFETY: that many bytes are writable, says the caller; `now` has them.
        unsafe { std::ptr::copy_nonoverlapping((&raw const now).cast::<u8>(), stats.cast::<u8>(), size) };
        Ok(())
    })
}

fn now() -> syncedmem_stats_t {
    let (account, dropped) = recorder::with_ledger(|ledger| (*ledger.account(), ledger.dropped()));
    let [pageable, pinned, device] = Kind::ALL.map(|kind| memory(&account, kind));
    let copies = |to, path| sum(account.copies(to, path));
    let evictions = |side| sum(account.evictions(side, false).plus(account.evictions(side, true)));
    syncedmem_stats_t {
        size: size_of::<syncedmem_stats_t>(),
        pageable,
        pinned,
        device,
        to_device_pinned: copies(Side::Device, Path::Pinned),
        to_device_staged: copies(Side::Device, Path::Staged),
        to_device_pageable: copies(Side::Device, Path::Pageable),
        to_host_pinned: copies(Side::Host, Path::Pinned),
        to_host_staged: copies(Side::Host, Path::Staged),
        to_host_pageable: copies(Side::Host, Path::Pageable),
        host_fills: sum(account.fills(Side::Host)),
        device_fills: sum(account.fills(Side::Device)),
        waits: sum(account.waits),
        synchronises: sum(account.synchronised),
        registrations: sum(account.registered),
        host_evictions: evictions(Side::Host),
        device_evictions: evictions(Side::Device),
        host_failures: sum(account.failures(Side::Host)),
        device_failures: sum(account.failures(Side::Device)),
        objects_made: account.made,
        objects_unseen: account.made_unseen,
        objects_ended: account.ended,
        host_reads: account.accesses(Side::Host, Access::Read),
        host_writes: account.accesses(Side::Host, Access::Write),
        host_overwrites: account.accesses(Side::Host, Access::Overwrite),
        device_reads: account.accesses(Side::Device, Access::Read),
        device_writes: account.accesses(Side::Device, Access::Write),
        device_overwrites: account.accesses(Side::Device, Access::Overwrite),
        dropped,
    }
}

fn memory(account: &Account, kind: Kind) -> syncedmem_memory_stats_t {
    let memory = account.memory(kind);
    // What was there before accounting began is known to those who gave it out.
    let pinned = || crate::memory::driver::blocks::held(Side::Host).bytes;
    let held = match kind {
        // A limit is one for both kinds of host memory, and so is what is counted under it.
        Kind::Pageable if settings::host_limit().is_some() => host_usage::held().saturating_sub(pinned()),
        Kind::Pageable => host_usage::held(),
        Kind::Pinned => pinned(),
        Kind::Device => crate::memory::driver::blocks::held(Side::Device).bytes,
    };
    // Of what was given back since nothing is observed, nobody told.
    let told = if flags::on() { memory.live } else { 0 };
    syncedmem_memory_stats_t {
        live: told.max(held),
        peak: memory.peak.max(memory.live),
        idle: trim::idle(kind),
        budget: trim::budget(kind),
        allocations: sum(memory.fresh),
        pool_hits: sum(memory.pooled),
        frees: sum(memory.freed),
        turned_away: sum(memory.turned_away),
    }
}

fn sum(Sum { count, bytes, nanoseconds }: Sum) -> syncedmem_sum_t {
    syncedmem_sum_t { count, bytes, nanoseconds }
}
