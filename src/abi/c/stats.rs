//! The account in numbers.

use std::mem::offset_of;

use syncedmem_core::head::{Access, Side};
use syncedmem_core::kind::Kind;
use syncedmem_trace::account::{Account, Sum};
use syncedmem_trace::event::Path;

use crate::abi::arguments::{Grows, sized_out};
use crate::abi::call::entry;
use crate::abi::status::syncedmem_status_t;
use crate::memory::trim;
use crate::object::report::account;

/// Operations, their bytes and time. This structure never grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct syncedmem_sum_t {
    /// Number of operations.
    pub count: u64,
    /// Bytes in all.
    pub bytes: u64,
    /// Nanoseconds in all; 0 where time is not measured.
    pub nanoseconds: u64,
}

/// One kind of memory, in bytes. This structure never grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct syncedmem_memory_stats_t {
    /// Held by objects now. Without accounting, pageable blocks of up to 4 KiB are missing.
    pub live: u64,
    /// Maximum of `live` since accounting began, or since `syncedmem_reset_peaks`.
    pub peak: u64,
    /// Kept idle for later objects.
    pub idle: u64,
    /// Maximum that may be idle.
    pub budget: u64,
    /// Blocks from the system or the driver.
    pub allocations: syncedmem_sum_t,
    /// Blocks from the pool.
    pub pool_hits: syncedmem_sum_t,
    /// Blocks that objects gave back.
    pub frees: syncedmem_sum_t,
}

/// The account. Later versions add members at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct syncedmem_stats_t {
    /// `sizeof(syncedmem_stats_t)` before the call, then the bytes written.
    pub size: usize,
    /// Pageable host memory.
    pub pageable: syncedmem_memory_stats_t,
    /// Page-locked host memory.
    pub pinned: syncedmem_memory_stats_t,
    /// Device memory.
    pub device: syncedmem_memory_stats_t,
    /// Copies from page-locked memory to the device. The time of a push is that of its call.
    pub to_device_pinned: syncedmem_sum_t,
    /// Copies from pageable memory to the device.
    pub to_device_pageable: syncedmem_sum_t,
    /// Copies from the device to page-locked memory. The time of a pull is that of its call.
    pub to_host_pinned: syncedmem_sum_t,
    /// Copies from the device to pageable memory.
    pub to_host_pageable: syncedmem_sum_t,
    /// Host sides filled with zeros. Fresh pages of the system take no time.
    pub host_fills: syncedmem_sum_t,
    /// Device sides filled with zeros.
    pub device_fills: syncedmem_sum_t,
    /// Waits for copies in flight.
    pub waits: syncedmem_sum_t,
    /// Contexts synchronized before a block was reused.
    pub synchronises: syncedmem_sum_t,
    /// Failed host allocations.
    pub host_failures: syncedmem_sum_t,
    /// Failed device allocations.
    pub device_failures: syncedmem_sum_t,
    /// Objects made, but for those whose constructor is inlined into the program.
    pub objects_made: u64,
    /// Objects ended.
    pub objects_ended: u64,
    /// Accesses to the host for reading that allocated, filled or copied.
    pub host_reads: u64,
    /// Accesses to the host for reading and writing that allocated, filled or copied.
    pub host_writes: u64,
    /// Accesses to the host for overwriting that allocated, filled or copied.
    pub host_overwrites: u64,
    /// Accesses to the device for reading that allocated, filled or copied.
    pub device_reads: u64,
    /// Accesses to the device for reading and writing that allocated, filled or copied.
    pub device_writes: u64,
    /// Accesses to the device for overwriting that allocated, filled or copied.
    pub device_overwrites: u64,
}

const _: () = assert!(offset_of!(syncedmem_stats_t, size) == 0);

impl Grows for syncedmem_stats_t {
    const LEAST: usize = offset_of!(Self, pinned);
}

/// Writes the account to `*stats`: at most the bytes of its `size`. Without accounting, all but `live`, `idle` and
/// `budget` is 0.
///
/// Errors: `INVALID_ARGUMENT` (also `size` is too small for the first member of memory).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_stats(stats: *mut syncedmem_stats_t) -> syncedmem_status_t {
    entry!(sized_out(stats), |out| out.set(&syncedmem_stats_t { size: out.size, ..now() }))
}

fn now() -> syncedmem_stats_t {
    let account = account();
    let [pageable, pinned, device] = Kind::ALL.map(|kind| memory(&account, kind));
    let copies = |to, path| sum(account.copies(to, path));
    syncedmem_stats_t {
        size: size_of::<syncedmem_stats_t>(),
        pageable,
        pinned,
        device,
        to_device_pinned: copies(Side::Device, Path::Pinned),
        to_device_pageable: copies(Side::Device, Path::Pageable),
        to_host_pinned: copies(Side::Host, Path::Pinned),
        to_host_pageable: copies(Side::Host, Path::Pageable),
        host_fills: sum(account.fills(Side::Host)),
        device_fills: sum(account.fills(Side::Device)),
        waits: sum(account.waits()),
        synchronises: sum(account.synchronised()),
        host_failures: sum(account.failures(Side::Host)),
        device_failures: sum(account.failures(Side::Device)),
        objects_made: account.made(),
        objects_ended: account.ended(),
        host_reads: account.accesses(Side::Host, Access::Read),
        host_writes: account.accesses(Side::Host, Access::Write),
        host_overwrites: account.accesses(Side::Host, Access::Overwrite),
        device_reads: account.accesses(Side::Device, Access::Read),
        device_writes: account.accesses(Side::Device, Access::Write),
        device_overwrites: account.accesses(Side::Device, Access::Overwrite),
    }
}

fn memory(account: &Account, kind: Kind) -> syncedmem_memory_stats_t {
    let memory = account.memory(kind);
    syncedmem_memory_stats_t {
        live: memory.live,
        peak: memory.peak,
        idle: trim::idle(kind),
        budget: trim::budget(kind),
        allocations: sum(memory.fresh),
        pool_hits: sum(memory.pooled),
        frees: sum(memory.freed),
    }
}

fn sum(Sum { count, bytes, nanoseconds }: Sum) -> syncedmem_sum_t {
    syncedmem_sum_t { count, bytes, nanoseconds }
}
