//! What the user may choose: by environment variable, read when first needed, or by a call, which wins.
//!
//! Nothing is read at load, and reading allocates nothing.

mod amount;
mod choice;
mod seconds;

use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

pub use amount::Amount;
pub use choice::Choice;
pub use seconds::Seconds;

static UNSETTLED: AtomicBool = AtomicBool::new(true);

/// Reads what host blocks need to know, so that it need not be read later with a lock held.
#[inline]
pub fn settle() {
    if UNSETTLED.load(Ordering::Relaxed) {
        UNSETTLED.store(false, Ordering::Relaxed);
        read_all();
    }
}

#[cold]
fn read_all() {
    for amount in [&HOST_LIMIT, &PAGEABLE_POOL, &PINNED_POOL, &PINNED_LIMIT] {
        amount.get();
    }
    for choice in [&MODE, &PIN, &HOST_BLOCKS, &HUGE_PAGES, &POOLS, &REUSE, &PINNED_BLOCKS] {
        choice.get();
    }
    POOL_AGE.get();
}

/// `Caffe::mode()` as told by the user: auto (ask Caffe), cpu, gpu.
pub static MODE: Choice = Choice::new(c"SYNCEDMEM_MODE", &["auto", "cpu", "gpu"]);
/// Page-locked host memory: auto (in GPU mode), always, never.
pub static PIN: Choice = Choice::new(c"SYNCEDMEM_PIN", &["auto", "always", "never"]);
/// What a failure in a C++ entry point does: abort as Caffe did, or throw.
pub static ON_ERROR: Choice = Choice::new(c"SYNCEDMEM_ON_ERROR", &["abort", "throw"]);
/// Where host blocks of objects come from: auto, or all of them from malloc.
pub static HOST_BLOCKS: Choice = Choice::new(c"SYNCEDMEM_HOST_BLOCKS", &["auto", "malloc"]);
/// Whether huge pages are asked for: auto (from 2 MiB up), never.
pub static HUGE_PAGES: Choice = Choice::new(c"SYNCEDMEM_HUGE_PAGES", &["auto", "never"]);

/// Whether host memory is to be page-locked, as far as the user has said so; else `Caffe::mode()` decides.
#[inline]
pub fn pins() -> Option<bool> {
    match (PIN.get(), MODE.get()) {
        (1, _) | (0, 2) => Some(true),
        (2, _) | (0, 1) => Some(false),
        _ => None,
    }
}

/// Whether a device block may only be used while its device is current: off, on (the original's DEBUG check).
pub static CHECK_DEVICE: Choice = Choice::new(c"SYNCEDMEM_CHECK_DEVICE", &["0", "1"]);

/// Whether every host block must be one that `free()` takes.
pub fn malloc_only() -> bool {
    HOST_BLOCKS.get() == 1
}

/// Whether huge pages are asked for.
pub fn huge_pages() -> bool {
    HUGE_PAGES.get() == 0
}

/// Whether a failure in a C++ entry point throws.
pub fn throws() -> bool {
    ON_ERROR.get() == 1
}

/// Whether every call looks at which device is current.
pub fn checks_device() -> bool {
    CHECK_DEVICE.get() == 1
}

/// The most bytes of host memory that objects may hold together; 0 or nothing for no limit.
pub static HOST_LIMIT: Amount = Amount::new(c"SYNCEDMEM_HOST_LIMIT", "no limit");

/// `SYNCEDMEM_HOST_LIMIT`: the most bytes of host memory that objects may hold together.
#[inline]
pub fn host_limit() -> Option<u64> {
    HOST_LIMIT.get().filter(|&limit| limit != 0)
}

/// Whether blocks that were given back are kept for the next: on, off.
pub static POOLS: Choice = Choice::new(c"SYNCEDMEM_POOLS", &["on", "off"]);
/// When a block that work of the device's may still be using is handed out again: once its context was synchronised, or
/// once an event behind that work has come to pass.
pub static REUSE: Choice = Choice::new(c"SYNCEDMEM_REUSE", &["synchronised", "stream"]);
/// The most bytes of pageable host memory that may lie idle.
pub static PAGEABLE_POOL: Amount = Amount::new(c"SYNCEDMEM_PAGEABLE_POOL", "the default");
/// The most bytes of page-locked host memory that may lie idle.
pub static PINNED_POOL: Amount = Amount::new(c"SYNCEDMEM_PINNED_POOL", "the default");
/// The most bytes of each device's memory that may lie idle.
pub static DEVICE_POOL: Amount = Amount::new(c"SYNCEDMEM_DEVICE_POOL", "the default");
/// How page-locked blocks of 2 MiB and more are come by: the driver allocates them, or registers mappings on huge pages.
pub static PINNED_BLOCKS: Choice = Choice::new(c"SYNCEDMEM_PINNED_BLOCKS", &["allocated", "registered"]);

/// Whether they are registered mappings. No GPU has been measured for that.
pub fn registers_pinned_blocks() -> bool {
    PINNED_BLOCKS.get() == 1
}

/// The most bytes that may be page-locked in all.
pub static PINNED_LIMIT: Amount = Amount::new(c"SYNCEDMEM_PINNED_LIMIT", "the default");
/// From how many bytes on pageable memory is copied through page-locked slots; 0, the default, for never.
pub static STAGE_FROM: Amount = Amount::new(c"SYNCEDMEM_STAGE_FROM", "0 (never)");

/// That number, if there is one. No GPU has been measured for any.
pub fn stage_from() -> Option<usize> {
    STAGE_FROM.get().filter(|&bytes| bytes != 0).map(|bytes| bytes as usize)
}

/// Whether what memory does is accounted for: off, on, or with every access to an object counted.
pub static ACCOUNT: Choice = Choice::new(c"SYNCEDMEM_ACCOUNT", &["off", "on", "accesses"]);
/// Whether host contents are compared, to learn which copies and fills changed nothing: off, on.
pub static COMPARE: Choice = Choice::new(c"SYNCEDMEM_COMPARE", &["off", "on"]);
/// Ranges for a profiler: auto (where one is attached), off.
pub static NVTX: Choice = Choice::new(c"SYNCEDMEM_NVTX", &["auto", "off"]);

/// How long a pageable block may lie idle.
pub static POOL_AGE: Seconds = Seconds::new(c"SYNCEDMEM_POOL_AGE", 10);

/// Whether blocks are kept for the next that asks.
#[inline]
pub fn pools() -> bool {
    POOLS.get() == 0
}

/// Whether pageable blocks are kept: one look instead of three, on the path that is to be fast.
static KEEPS_PAGEABLE: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 2;

/// Whether pageable blocks are kept for the next that asks.
#[inline]
pub fn keeps_pageable() -> bool {
    match KEEPS_PAGEABLE.load(Ordering::Relaxed) {
        UNKNOWN => find_whether_pageable_is_kept(),
        known => known == 1,
    }
}

#[cold]
fn find_whether_pageable_is_kept() -> bool {
    let keeps = should_keep_pageable();
    // A call that changes it meanwhile knows better.
    let first = KEEPS_PAGEABLE.compare_exchange(UNKNOWN, u8::from(keeps), Ordering::Relaxed, Ordering::Relaxed);
    first.map_or_else(|known| known == 1, |_| keeps)
}

fn should_keep_pageable() -> bool {
    // A model has no blocks to keep, and small stacks.
    !cfg!(loom) && pools() && !malloc_only() && PAGEABLE_POOL.get() != Some(0)
}

/// Called after a setting of the pools was changed.
pub fn changed() {
    KEEPS_PAGEABLE.store(u8::from(should_keep_pageable()), Ordering::Relaxed);
}

/// Whether an event is enough to hand a block out again.
pub fn reuses_by_event() -> bool {
    REUSE.get() == 1
}

/// The value of an environment variable that is a setting of this library; an empty one counts as not set.
///
/// A program that runs with more rights than its caller (set-user-ID, set-group-ID, file capabilities) heeds none: a setting
/// can name a file to write or a library to load, and can make an operation fail that the program relies on.
#[expect(unsafe_code, reason = "getenv(3) and getauxval(3): std's own way allocates")]
pub fn environment(variable: &CStr) -> Option<&'static CStr> {
    // SAFETY: getauxval has no preconditions.
    if unsafe { libc::getauxval(libc::AT_SECURE) } != 0 {
        return None;
    }
    // SAFETY: `variable` is NUL-terminated.
    let value = unsafe { libc::getenv(variable.as_ptr()) };
    if value.is_null() {
        return None;
    }
    // SAFETY: getenv's result is NUL-terminated and stays while nobody changes that variable, as its contract says.
    let value = unsafe { CStr::from_ptr(value) };
    (!value.is_empty()).then_some(value)
}

/// Whether an environment variable of another library is there, even an empty one.
#[expect(unsafe_code, reason = "getenv(3)")]
pub fn is_set(variable: &CStr) -> bool {
    // SAFETY: `variable` is NUL-terminated.
    !unsafe { libc::getenv(variable.as_ptr()) }.is_null()
}
