//! The account in figures, as the C API gives it, without what differs from run to run.

use std::ffi::CString;

pub use syncedmem::abi::c::stats::*;

use super::*;

/// Accounting from the first call on.
pub const ON: (&str, &str) = ("SYNCEDMEM_ACCOUNT", "on");

pub fn figures() -> syncedmem_stats_t {
    let mut stats = syncedmem_stats_t { size: size_of::<syncedmem_stats_t>(), ..Default::default() };
    assert_eq!(unsafe { syncedmem_stats(&mut stats) }, SYNCEDMEM_SUCCESS);
    assert_eq!(stats.size, size_of::<syncedmem_stats_t>());
    stats
}

/// The figures now but for times, and for what lies idle, which others tell.
pub fn counts() -> syncedmem_stats_t {
    let mut stats = syncedmem_stats_t { size: 0, ..figures() };
    sums(&mut stats).into_iter().for_each(|sum| sum.nanoseconds = 0);
    for memory in [&mut stats.pageable, &mut stats.pinned, &mut stats.device] {
        (memory.idle, memory.budget) = (0, 0);
    }
    stats
}

/// So many, of so many bytes in all.
pub fn sum(count: u64, bytes: usize) -> syncedmem_sum_t {
    syncedmem_sum_t { count, bytes: bytes as u64, nanoseconds: 0 }
}

pub fn sums(stats: &mut syncedmem_stats_t) -> Vec<&mut syncedmem_sum_t> {
    let mut all = Vec::new();
    for memory in [&mut stats.pageable, &mut stats.pinned, &mut stats.device] {
        all.extend([&mut memory.allocations, &mut memory.pool_hits, &mut memory.frees]);
    }
    all.extend([
        &mut stats.to_device_pinned,
        &mut stats.to_device_pageable,
        &mut stats.to_host_pinned,
        &mut stats.to_host_pageable,
        &mut stats.host_fills,
        &mut stats.device_fills,
        &mut stats.waits,
        &mut stats.synchronises,
        &mut stats.host_failures,
        &mut stats.device_failures,
    ]);
    all
}

pub fn set_name(mem: *mut syncedmem_t, name: &str) -> syncedmem_status_t {
    let name = CString::new(name).unwrap();
    unsafe { syncedmem_set_name(mem, name.as_ptr()) }
}
