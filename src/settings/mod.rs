//! The settings of docs/settings.md, read when first needed. A call of the C API takes precedence. Reading allocates
//! nothing.

mod variable;

use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};

pub use variable::{Amount, Choice, Seconds};

static UNREAD: AtomicBool = AtomicBool::new(true);

/// Reads what would else be read under a lock.
#[inline]
pub fn read_host_settings() {
    if UNREAD.load(Ordering::Relaxed) {
        UNREAD.store(false, Ordering::Relaxed);
        read_all();
    }
}

#[cold]
fn read_all() {
    for amount in [&HOST_LIMIT, &POOL_BUDGET, &PINNED_LIMIT] {
        amount.get();
    }
    for choice in [&MODE, &PIN, &HOST_BLOCKS, &JUNK_FILL] {
        choice.get();
    }
    POOL_AGE.get();
}

pub static MODE: Choice = Choice::new(c"SYNCEDMEM_MODE", &["auto", "cpu", "gpu"]);
pub static PIN: Choice = Choice::new(c"SYNCEDMEM_PIN", &["auto", "always", "never"]);
pub static ON_ERROR: Choice = Choice::new(c"SYNCEDMEM_ON_ERROR", &["abort", "throw"]);
pub static HOST_BLOCKS: Choice = Choice::new(c"SYNCEDMEM_HOST_BLOCKS", &["auto", "malloc"]);

/// `None`: `Caffe::mode()` decides.
#[inline]
pub fn pins() -> Option<bool> {
    match (PIN.get(), MODE.get()) {
        (1, _) | (0, 2) => Some(true),
        (2, _) | (0, 1) => Some(false),
        _ => None,
    }
}

/// The original's DEBUG check.
pub static CHECK_DEVICE: Choice = Choice::new(c"SYNCEDMEM_CHECK_DEVICE", &["0", "1"]);

/// Whether `free()` must accept every host block.
pub fn malloc_only() -> bool {
    HOST_BLOCKS.get() == 1
}

pub static JUNK_FILL: Choice = Choice::new(c"SYNCEDMEM_JUNK_FILL", &["off", "on"]);

pub fn fills_with_junk() -> bool {
    JUNK_FILL.get() == 1
}

pub fn throws() -> bool {
    ON_ERROR.get() == 1
}

pub static TAKE_OVER: Choice = Choice::new(c"SYNCEDMEM_TAKE_OVER", &["0", "1"]);

pub fn takes_over() -> bool {
    TAKE_OVER.get() == 1
}

pub fn checks_device() -> bool {
    CHECK_DEVICE.get() == 1
}

pub static HOST_LIMIT: Amount = Amount::new(c"SYNCEDMEM_HOST_LIMIT", "no limit");

#[inline]
pub fn host_limit() -> Option<u64> {
    HOST_LIMIT.get().filter(|&limit| limit != 0)
}

/// Of each kind of memory.
pub static POOL_BUDGET: Amount = Amount::new(c"SYNCEDMEM_POOL_BUDGET", "the default");
pub static PINNED_LIMIT: Amount = Amount::new(c"SYNCEDMEM_PINNED_LIMIT", "the default");

pub static ACCOUNT: Choice = Choice::new(c"SYNCEDMEM_ACCOUNT", &["off", "on"]);
pub static TRACE_SIZE: Amount = Amount::new(c"SYNCEDMEM_TRACE_SIZE", "the default");

pub static POOL_AGE: Seconds = Seconds::new(c"SYNCEDMEM_POOL_AGE", 10);

/// Whether freed blocks are kept for the next object.
#[inline]
pub fn pools() -> bool {
    POOL_BUDGET.get() != Some(0)
}

#[inline]
pub fn keeps_pageable() -> bool {
    // A model has no blocks to keep, and small stacks.
    !cfg!(loom) && pools() && !malloc_only()
}

/// Of this library; an empty value counts as not set.
///
/// A program with more rights than its caller (such as set-user-ID) reads none: a setting can name a file to write or a
/// library to load.
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
    // SAFETY: getenv's string is NUL-terminated, and POSIX forbids the program to change the environment meanwhile.
    let value = unsafe { CStr::from_ptr(value) };
    (!value.is_empty()).then_some(value)
}

/// Calls `visit` with each `NAME=VALUE` of this library.
#[expect(unsafe_code, reason = "environ(7): std's own way allocates")]
pub fn each_given(mut visit: impl FnMut(&CStr)) {
    unsafe extern "C" {
        static environ: *const *const std::ffi::c_char;
    }
    // SAFETY: getauxval has no preconditions.
    if unsafe { libc::getauxval(libc::AT_SECURE) } != 0 {
        return;
    }
    // SAFETY: the C library's own variable; POSIX forbids the program to change the environment meanwhile.
    let mut next = unsafe { environ };
    while !next.is_null() {
        // SAFETY: the list ends with a null pointer, which is the last one that is read.
        let variable = unsafe { *next };
        if variable.is_null() {
            return;
        }
        // SAFETY: the environment's strings are NUL-terminated.
        let variable = unsafe { CStr::from_ptr(variable) };
        if variable.to_bytes().starts_with(b"SYNCEDMEM_") {
            visit(variable);
        }
        // SAFETY: behind a pointer that is not null there is another one.
        next = unsafe { next.add(1) };
    }
}

/// Of another library; an empty value counts as set.
#[expect(unsafe_code, reason = "getenv(3)")]
pub fn is_set(variable: &CStr) -> bool {
    // SAFETY: `variable` is NUL-terminated.
    !unsafe { libc::getenv(variable.as_ptr()) }.is_null()
}
