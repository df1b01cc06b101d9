//! Freed blocks of the driver, on the device or page-locked.
//!
//! A block waits here until its context was synchronised after the free, because work on the device may still use it. One
//! synchronisation clears all blocks that wait. It is made only if no clear block fits.
//!
//! The program's own threads free idle blocks beyond the budget, in a trim, and when memory has run out.
#![expect(unsafe_code, reason = "the driver's functions are called")]

pub(crate) mod idle;

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use syncedmem_core::head::Side;
use syncedmem_core::kind::Kind;

use super::bins::Idle;
use crate::cuda::context::{self, ContextGuard, Operation};
use crate::cuda::driver::Driver;
use crate::cuda::{captures_graphs, driver_in_use, synchronize};
use crate::error::DriverFailure;
use crate::memory::driver::deferred;
use crate::memory::driver::source::Allocation;
use crate::platform::clock::coarse_milliseconds;
use crate::settings;
use idle::{IdleBlock, IdleBlocks, Readiness};

static FREES: AtomicU64 = AtomicU64::new(0);

pub fn take(
    driver: &Driver,
    guard: &ContextGuard<'_>,
    side: Side,
    bytes: usize,
) -> Option<(NonNull<c_void>, Allocation)> {
    let idle_blocks = IdleBlocks::of(side);
    if idle_blocks.is_empty() || !settings::pools() {
        return None;
    }
    let is_here = |block: &IdleBlock| block.allocation.context == guard.context;
    loop {
        let Some(mut idle) = idle_blocks.take(bytes, |block| is_here(block) && block.waits.is_none()) else {
            let has_one = idle_blocks.has(bytes, |block| is_here(block) && block.waits.is_some());
            if has_one && synchronise(driver, guard).is_ok() {
                continue;
            }
            return None;
        };
        let readiness = idle.block.readiness(driver);
        let IdleBlock { address, allocation, .. } = idle.block;
        match readiness {
            Readiness::Ready => return Some((address, allocation)),
            Readiness::Busy => {
                if !idle_blocks.keep(idle) {
                    give_back(driver, idle.block);
                }
                return None;
            }
            // SAFETY: the block is idle: it has no owner.
            Readiness::Gone => unsafe { deferred::give_back_or_leave(driver, address, allocation) },
        }
    }
}

/// Frees, before a new block of `bytes` for the current context, the oldest idle blocks that would be beyond the peak of use with it.
/// Waits for no other context.
pub fn make_room(driver: &Driver, guard: &ContextGuard<'_>, device: c_int, side: Side, bytes: usize) {
    let idle_blocks = IdleBlocks::of(side);
    let most = idle_blocks.most_beside(device, bytes as u64);
    let is_near = |block: &IdleBlock| block.is_clear() || block.allocation.context == guard.context;
    reduce_device_to(driver, idle_blocks, device, most, is_near);
}

/// Synchronises the current context, which clears its idle blocks of both sides. Work of other contexts that uses them is declared (see
/// `streams`).
fn synchronise(driver: &Driver, guard: &ContextGuard<'_>) -> Result<(), DriverFailure> {
    // The synchronisation does not cover later frees. SeqCst: see `keep_or_free`.
    let covered = FREES.load(Ordering::SeqCst);
    synchronize::context(driver)?;
    for idle_blocks in IdleBlocks::all() {
        idle_blocks.for_each(|block| {
            if block.allocation.context == guard.context && block.waits.is_some_and(|number| number < covered) {
                block.waits = None;
                block.allocation.pending_on_legacy = false;
            }
        });
    }
    Ok(())
}

/// Keeps a block that its object gave up, or frees it after the work of the legacy default stream and of the streams that wait for it.
/// `cudaFree`, which Caffe's own class calls, waits for the device. A wait for the context would end another thread's capture.
///
/// # Safety
/// No thread refers to the block any more, and no copy in flight uses it.
pub unsafe fn keep_or_free(driver: &Driver, address: NonNull<c_void>, mut allocation: Allocation) {
    let idle_blocks = IdleBlocks::of(allocation.side);
    // A process that captures graphs synchronises no context.
    let can_be_kept = settings::pools() && !captures_graphs() && allocation.identity.is_certain();
    let has_room = allocation.room as u64 <= idle_blocks.budget(allocation.device);
    if can_be_kept && has_room {
        // SeqCst: a synchronisation that covers this free begins after it.
        let waits = Some(FREES.fetch_add(1, Ordering::SeqCst));
        if idle_blocks.keep(Idle::new(allocation.room, IdleBlock { address, allocation, waits })) {
            // The driver's free does not wait for work in other contexts.
            let is_near = |block: &IdleBlock| block.waits_at_most_for(&allocation);
            reduce_device(driver, idle_blocks, allocation.device, is_near);
            return;
        }
    }
    let _operation = Operation::begin();
    match allocation.enter(driver, address) {
        // A captured stream refuses the wait, and the driver decides about the free.
        Ok(Some(_guard)) if synchronize::legacy_stream(driver).is_ok() => allocation.pending_on_legacy = false,
        Ok(_) => {}
        // The driver's free waits instead.
        Err(_) => allocation.pending_on_legacy = true,
    }
    // SAFETY: the caller of `keep_or_free` guarantees that nothing uses the block.
    unsafe { deferred::give_back_or_leave(driver, address, allocation) };
}

/// Frees a block after all work that may use it.
fn give_back(driver: &Driver, block: IdleBlock) {
    let IdleBlock { address, mut allocation, waits } = block;
    let _operation = Operation::begin();
    if waits.is_some() {
        match allocation.enter(driver, address) {
            // After a failed wait the driver decides about the free.
            Ok(Some(guard)) => _ = synchronise(driver, &guard),
            Ok(None) => {}
            // The driver's free waits instead.
            Err(_) => allocation.pending_on_legacy = true,
        }
    }
    // SAFETY: the block is idle: it has no owner.
    unsafe { deferred::give_back_or_leave(driver, address, allocation) };
}

fn reduce_device(driver: &Driver, idle_blocks: &IdleBlocks, device: c_int, wanted: impl Fn(&IdleBlock) -> bool) {
    reduce_device_to(driver, idle_blocks, device, idle_blocks.budget(device), wanted);
}

fn reduce_device_to(
    driver: &Driver,
    idle_blocks: &IdleBlocks,
    device: c_int,
    bytes: u64,
    wanted: impl Fn(&IdleBlock) -> bool,
) {
    let is_wanted =
        |idle: &Idle<IdleBlock>| idle_blocks.are_one(idle.block.allocation.device, device) && wanted(&idle.block);
    while idle_blocks.idle(device) > bytes {
        let Some(idle) = idle_blocks.take_oldest(is_wanted) else { return };
        give_back(driver, idle.block);
    }
}

/// Frees all idle blocks after work in any context that may use them, and returns their bytes.
pub fn give_back_all(kind: Kind) -> u64 {
    give_back_those(kind, |_| true)
}

/// [`give_back_all`] without blocks that work on another device than the thread's current one may use.
pub fn give_back_near(kind: Kind) -> u64 {
    let here = driver_in_use().and_then(|driver| context::current_device(driver).ok());
    give_back_those(kind, |block| block.is_clear() || Some(block.allocation.device) == here)
}

fn give_back_those(kind: Kind, wanted: impl Fn(&IdleBlock) -> bool) -> u64 {
    let (Some(driver), Some(idle_blocks)) = (driver_in_use(), IdleBlocks::of_kind(kind)) else { return 0 };
    let mut bytes = 0;
    // Blocks that other threads free meanwhile stay.
    let now = coarse_milliseconds();
    while let Some(idle) = idle_blocks.take_oldest(|idle| idle.since <= now && wanted(&idle.block)) {
        bytes += idle.bytes as u64;
        give_back(driver, idle.block);
    }
    bytes
}

pub fn idle(kind: Kind) -> u64 {
    IdleBlocks::of_kind(kind).map_or(0, IdleBlocks::idle_in_all)
}

/// The largest budget of all devices, in bytes.
pub fn budget(kind: Kind) -> u64 {
    IdleBlocks::of_kind(kind).map_or(0, IdleBlocks::largest_budget)
}

/// Frees the idle blocks beyond the budget, after work in any context that may use them.
pub fn reduce(kind: Kind) {
    let (Some(driver), Some(idle_blocks)) = (driver_in_use(), IdleBlocks::of_kind(kind)) else { return };
    idle_blocks.devices().for_each(|device| reduce_device(driver, idle_blocks, device, |_| true));
}
