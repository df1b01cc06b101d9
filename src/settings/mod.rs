//! The settings: environment variables, read when first needed. A call of the C API takes precedence.
//!
//! Nothing is read at load, and reading allocates nothing.

mod variable;

use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

pub use variable::{Amount, Choice, Seconds};

static UNREAD: AtomicBool = AtomicBool::new(true);

/// Reads the settings of host blocks, so that they are not read later under a lock.
#[inline]
pub fn read_host_settings() {
    if UNREAD.load(Ordering::Relaxed) {
        UNREAD.store(false, Ordering::Relaxed);
        read_all();
    }
}

#[cold]
fn read_all() {
    for amount in [&HOST_LIMIT, &PAGEABLE_POOL, &PINNED_POOL, &PINNED_LIMIT] {
        amount.get();
    }
    for choice in [&MODE, &PIN, &HOST_BLOCKS, &HUGE_PAGES, &POOLS, &REUSE, &PINNED_BLOCKS, &JUNK_FILL] {
        choice.get();
    }
    POOL_AGE.get();
}

/// The value of `Caffe::mode()`: auto (ask Caffe), cpu, gpu.
pub static MODE: Choice = Choice::new(c"SYNCEDMEM_MODE", &["auto", "cpu", "gpu"]);
/// Page-locked host memory: auto (in GPU mode), always, never.
pub static PIN: Choice = Choice::new(c"SYNCEDMEM_PIN", &["auto", "always", "never"]);
/// The effect of a failure in a C++ entry point: abort, as in Caffe, or throw.
pub static ON_ERROR: Choice = Choice::new(c"SYNCEDMEM_ON_ERROR", &["abort", "throw"]);
/// The source of host blocks: auto, or always malloc.
pub static HOST_BLOCKS: Choice = Choice::new(c"SYNCEDMEM_HOST_BLOCKS", &["auto", "malloc"]);
/// Huge pages for blocks from 2 MiB up: the system decides, or is advised to use them.
pub static HUGE_PAGES: Choice = Choice::new(c"SYNCEDMEM_HUGE_PAGES", &["system", "advise"]);

/// Whether the user has chosen page-locked host memory; `None`: `Caffe::mode()` decides.
#[inline]
pub fn pins() -> Option<bool> {
    match (PIN.get(), MODE.get()) {
        (1, _) | (0, 2) => Some(true),
        (2, _) | (0, 1) => Some(false),
        _ => None,
    }
}

/// Whether a device block may be used only while its device is current (the original's DEBUG check): off, on.
pub static CHECK_DEVICE: Choice = Choice::new(c"SYNCEDMEM_CHECK_DEVICE", &["0", "1"]);

/// Whether `free()` must accept every host block.
pub fn malloc_only() -> bool {
    HOST_BLOCKS.get() == 1
}

/// Whether huge pages are asked for.
pub fn asks_for_huge_pages() -> bool {
    HUGE_PAGES.get() == 1
}

/// Whether host memory whose contents are undefined is filled with junk: off, on.
pub static JUNK_FILL: Choice = Choice::new(c"SYNCEDMEM_JUNK_FILL", &["off", "on"]);

/// Whether host memory whose contents are undefined is filled with junk.
pub fn fills_with_junk() -> bool {
    JUNK_FILL.get() == 1
}

/// Whether a failure in a C++ entry point throws.
pub fn throws() -> bool {
    ON_ERROR.get() == 1
}

/// Whether every call checks the current device.
pub fn checks_device() -> bool {
    CHECK_DEVICE.get() == 1
}

/// The most bytes of host memory that objects may hold together; 0: no limit.
pub static HOST_LIMIT: Amount = Amount::new(c"SYNCEDMEM_HOST_LIMIT", "no limit");

/// `SYNCEDMEM_HOST_LIMIT`: the most bytes of host memory that objects may hold together.
#[inline]
pub fn host_limit() -> Option<u64> {
    HOST_LIMIT.get().filter(|&limit| limit != 0)
}

/// Whether freed blocks are kept for reuse: on, off.
pub static POOLS: Choice = Choice::new(c"SYNCEDMEM_POOLS", &["on", "off"]);
/// When a block that the device may still be using is reused: after a synchronisation of its context, or after an event
/// behind that work.
pub static REUSE: Choice = Choice::new(c"SYNCEDMEM_REUSE", &["synchronised", "stream"]);
/// The most bytes of pageable host memory that may lie idle.
pub static PAGEABLE_POOL: Amount = Amount::new(c"SYNCEDMEM_PAGEABLE_POOL", "the default");
/// The most bytes of page-locked host memory that may lie idle.
pub static PINNED_POOL: Amount = Amount::new(c"SYNCEDMEM_PINNED_POOL", "the default");
/// The most bytes of each device's memory that may lie idle.
pub static DEVICE_POOL: Amount = Amount::new(c"SYNCEDMEM_DEVICE_POOL", "the default");
/// How page-locked blocks of 2 MiB and more are made: the driver allocates them, or registers mappings of huge pages.
pub static PINNED_BLOCKS: Choice = Choice::new(c"SYNCEDMEM_PINNED_BLOCKS", &["allocated", "registered"]);

/// Whether the driver registers mappings. Not measured on a GPU yet.
pub fn registers_pinned_blocks() -> bool {
    PINNED_BLOCKS.get() == 1
}

/// The most bytes that may be page-locked in all.
pub static PINNED_LIMIT: Amount = Amount::new(c"SYNCEDMEM_PINNED_LIMIT", "the default");
/// From this size in bytes on, pageable memory is copied through page-locked staging buffers; 0, the default: never.
pub static STAGE_FROM: Amount = Amount::new(c"SYNCEDMEM_STAGE_FROM", "0 (never)");

/// The size from which copies are staged, if there is one. Not measured on a GPU yet.
pub fn stage_from() -> Option<usize> {
    STAGE_FROM.get().filter(|&bytes| bytes != 0).map(|bytes| bytes as usize)
}

/// The account: off, on, or with every access counted.
pub static ACCOUNT: Choice = Choice::new(c"SYNCEDMEM_ACCOUNT", &["off", "on", "accesses"]);
/// Whether host contents are compared, to find copies and fills that changed nothing: off, on.
pub static COMPARE: Choice = Choice::new(c"SYNCEDMEM_COMPARE", &["off", "on"]);
/// The most bytes of a process's trace.
pub static TRACE_SIZE: Amount = Amount::new(c"SYNCEDMEM_TRACE_SIZE", "the default");
/// Ranges for a profiler: auto (if one is attached), off.
pub static NVTX: Choice = Choice::new(c"SYNCEDMEM_NVTX", &["auto", "off"]);

/// The longest time that a pageable block lies idle.
pub static POOL_AGE: Seconds = Seconds::new(c"SYNCEDMEM_POOL_AGE", 10);

/// Whether freed blocks are kept for reuse.
#[inline]
pub fn pools() -> bool {
    POOLS.get() == 0
}

/// Whether pageable blocks are kept: one load instead of three, for the fast path.
static KEEPS_PAGEABLE: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 2;

/// Whether pageable blocks are kept for reuse.
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
    // A call that changes a setting meanwhile takes precedence.
    let first = KEEPS_PAGEABLE.compare_exchange(UNKNOWN, u8::from(keeps), Ordering::Relaxed, Ordering::Relaxed);
    first.map_or_else(|known| known == 1, |_| keeps)
}

fn should_keep_pageable() -> bool {
    // Not in a model, which has no blocks to keep, and small stacks.
    !cfg!(loom) && pools() && !malloc_only() && PAGEABLE_POOL.get() != Some(0)
}

/// To be called after a change of the pools' settings.
pub fn changed() {
    KEEPS_PAGEABLE.store(u8::from(should_keep_pageable()), Ordering::Relaxed);
}

/// Whether an event suffices to reuse a block.
pub fn reuses_by_event() -> bool {
    REUSE.get() == 1
}

/// The value of an environment variable of this library. An empty one counts as not set.
///
/// A program with more rights than its caller (set-user-ID, set-group-ID, file capabilities) reads none: a setting can
/// name a file to write or a library to load, and can make an operation fail that the program relies on.
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
    // SAFETY: getenv returns a NUL-terminated string. POSIX requires of the program not to change the environment
    // meanwhile.
    let value = unsafe { CStr::from_ptr(value) };
    (!value.is_empty()).then_some(value)
}

/// Whether an environment variable of another library is set, even to an empty value.
#[expect(unsafe_code, reason = "getenv(3)")]
pub fn is_set(variable: &CStr) -> bool {
    // SAFETY: `variable` is NUL-terminated.
    !unsafe { libc::getenv(variable.as_ptr()) }.is_null()
}
