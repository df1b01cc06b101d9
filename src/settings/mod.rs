//! The values of the settings ([`table`]), read when they are first needed. A call of the C API takes precedence. Reading
//! allocates nothing.

mod variable;

use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};

use syncedmem_core::settings::{self as table, Setting};
use syncedmem_core::text::Escaped;

use crate::platform::loaded;
use crate::platform::text::warn;
pub use variable::{Amount, Choice, Seconds};

pub static MODE: Choice = Choice::new(&table::MODE);
pub static PIN: Choice = Choice::new(&table::PIN);
pub static CHECK_DEVICE: Choice = Choice::new(&table::CHECK_DEVICE);
pub static ON_ERROR: Choice = Choice::new(&table::ON_ERROR);
pub static ACCOUNT: Choice = Choice::new(&table::ACCOUNT);
/// Becomes `malloc` when another copy of this library is in the process.
pub static HOST_BLOCKS: Choice = Choice::new(&table::HOST_BLOCKS);
static JUNK_FILL: Choice = Choice::new(&table::JUNK_FILL);
static TAKE_OVER: Choice = Choice::new(&table::TAKE_OVER);
static HOST_LIMIT: Amount = Amount::new(&table::HOST_LIMIT);
pub static POOL_BUDGET: Amount = Amount::new(&table::POOL_BUDGET);
pub static PINNED_LIMIT: Amount = Amount::new(&table::PINNED_LIMIT);
pub static TRACE_SIZE: Amount = Amount::new(&table::TRACE_SIZE);
pub static POOL_AGE: Seconds = Seconds::new(&table::POOL_AGE);

static UNREAD: AtomicBool = AtomicBool::new(true);

/// Reads the settings that would otherwise be read, and reported, under a lock.
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
    for choice in [&MODE, &PIN, &HOST_BLOCKS, &JUNK_FILL, &TAKE_OVER] {
        choice.get();
    }
    POOL_AGE.get();
    let share = given(&table::SHARE).filter(|share| table::SHARE.parse(share.to_bytes()) != Some(0));
    if let (Some(share), None) = (share, loaded::find(NET_LIBRARY)) {
        warn(format_args!(
            "SYNCEDMEM_SHARE={} has no effect without libsyncedmem_net.so; preload it, or use syncedmem run --share",
            Escaped(share.to_bytes())
        ));
    }
}

/// A function of the library that shares memory, and reports an unknown value.
const NET_LIBRARY: &CStr = c"_ZN9syncedmem11name_layersEv";

/// `None`: `Caffe::mode()` decides.
#[inline]
pub fn pins() -> Option<bool> {
    match (PIN.get(), MODE.get()) {
        (1, _) | (0, 2) => Some(true),
        (2, _) | (0, 1) => Some(false),
        _ => None,
    }
}

/// Whether `free()` must accept every host block.
pub fn malloc_only() -> bool {
    HOST_BLOCKS.get() == 1
}

pub fn fills_with_junk() -> bool {
    JUNK_FILL.get() == 1
}

pub fn throws() -> bool {
    ON_ERROR.get() == 1
}

/// The library asks when it is loaded, also in programs without Caffe, so a wrong value is reported only by `read_all`.
pub fn takes_over() -> bool {
    given(&table::TAKE_OVER).is_some_and(|value| table::TAKE_OVER.parse(value.to_bytes()) == Some(1))
}

pub fn checks_device() -> bool {
    CHECK_DEVICE.get() == 1
}

#[inline]
pub fn host_limit() -> Option<u64> {
    HOST_LIMIT.get().filter(|&limit| limit != 0)
}

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

/// The setting's value in the environment.
pub fn given(setting: &Setting) -> Option<&'static CStr> {
    environment(setting.variable)
}

/// The value of a variable; an empty one counts as not set.
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
        // SAFETY: a pointer that is not null is followed by another one.
        next = unsafe { next.add(1) };
    }
}

/// Whether a variable of another library is set, if only to an empty value.
#[expect(unsafe_code, reason = "getenv(3)")]
pub fn is_set(variable: &CStr) -> bool {
    // SAFETY: `variable` is NUL-terminated.
    !unsafe { libc::getenv(variable.as_ptr()) }.is_null()
}
