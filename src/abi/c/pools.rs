//! Pools of idle blocks.

use syncedmem_core::kind::Kind;

use crate::abi::arguments::{one_of, out};
use crate::abi::call::entry;
use crate::abi::status::syncedmem_status_t;
use crate::error::Error;
use crate::memory::limit;
use crate::memory::trim;
use crate::settings;

/// A kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum syncedmem_memory_t {
    /// Pageable host memory.
    SYNCEDMEM_MEMORY_PAGEABLE = 0,
    /// Page-locked host memory.
    SYNCEDMEM_MEMORY_PINNED = 1,
    /// Device memory.
    SYNCEDMEM_MEMORY_DEVICE = 2,
    /// All three.
    SYNCEDMEM_MEMORY_ALL = 3,
}

/// The kind of a `syncedmem_memory_t`; `None` for SYNCEDMEM_MEMORY_ALL.
fn kind(memory: i32) -> Result<Option<Kind>, Error> {
    let what = "memory is not a syncedmem_memory_t; pass SYNCEDMEM_MEMORY_PAGEABLE (0), SYNCEDMEM_MEMORY_PINNED (1), \
                SYNCEDMEM_MEMORY_DEVICE (2) or SYNCEDMEM_MEMORY_ALL (3)";
    one_of(memory, [Some(Kind::Pageable), Some(Kind::Pinned), Some(Kind::Device), None], what)
}

fn one_kind(memory: i32) -> Result<Kind, Error> {
    let what = "a budget is of one kind of memory; pass SYNCEDMEM_MEMORY_PAGEABLE (0), SYNCEDMEM_MEMORY_PINNED (1) or \
                SYNCEDMEM_MEMORY_DEVICE (2)";
    kind(memory)?.ok_or(Error::InvalidArgument { what })
}

fn kinds(memory: i32) -> Result<impl Iterator<Item = Kind>, Error> {
    let one = kind(memory)?;
    Ok(Kind::ALL.into_iter().filter(move |&kind| one.is_none_or(|one| one == kind)))
}

/// Gives the idle blocks of a `syncedmem_memory_t` back to the system or the driver.
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_trim(memory: i32) -> syncedmem_status_t {
    entry!(|| kinds(memory)?.for_each(|kind| _ = trim::trim(kind)))
}

/// Writes the idle bytes of a `syncedmem_memory_t` to `*bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_idle_bytes(memory: i32, bytes: *mut usize) -> syncedmem_status_t {
    entry!(out(bytes), |bytes| bytes.set(kinds(memory)?.map(trim::idle).sum::<u64>() as usize))
}

/// Sets the most bytes that may be idle, in blocks that objects gave back, separately for pageable memory, for page-locked
/// memory and for each device. With 0 each block is allocated and freed as in Caffe. Overrides
/// `SYNCEDMEM_POOL_BUDGET`, which holds again after `SIZE_MAX`, or without it the default.
///
/// Defaults: a quarter of the process's memory for pageable blocks, a sixteenth for page-locked ones, and a quarter of
/// what would be free on a device without idle blocks, but at most an eighth of the device. Idle memory of a kind plus that
/// in use stays within the most that was in use at once, plus 1 MiB; for page-locked and each device's memory plus a
/// twelfth, if that is more.
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_set_pool_budget(bytes: usize) -> syncedmem_status_t {
    entry!(|| {
        match bytes {
            usize::MAX => settings::POOL_BUDGET.reset(),
            bytes => settings::POOL_BUDGET.set(bytes as u64),
        }
        let give_back = |kind| if bytes == 0 { _ = trim::trim(kind) } else { trim::reduce(kind) };
        Kind::ALL.into_iter().for_each(give_back);
    })
}

/// Writes the most bytes of one `syncedmem_memory_t` that may be idle to `*bytes`; for device memory without a set budget,
/// those of the device that may keep most.
///
/// Errors: `INVALID_ARGUMENT` (also SYNCEDMEM_MEMORY_ALL).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_get_pool_budget(memory: i32, bytes: *mut usize) -> syncedmem_status_t {
    entry!(out(bytes), |bytes| bytes.set(trim::budget(one_kind(memory)?) as usize))
}

/// Sets for how many seconds a pageable block may be idle; by default 10. Other blocks have no limit. Overrides
/// `SYNCEDMEM_POOL_AGE`.
///
/// Errors: `INVALID_ARGUMENT` (negative, or no number).
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_set_pool_age(seconds: f64) -> syncedmem_status_t {
    let what = "seconds is negative or no number; pass 0 or more";
    entry!(|| settings::POOL_AGE.set(seconds).then_some(()).ok_or(Error::InvalidArgument { what })?)
}

/// Writes to `*seconds` how long a pageable block may be idle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_get_pool_age(seconds: *mut f64) -> syncedmem_status_t {
    entry!(out(seconds), |seconds| seconds.set(settings::POOL_AGE.get() as f64 / 1000.0))
}

/// Sets how many bytes this library may page-lock in all, for objects and idle. Beyond that new host blocks are pageable;
/// page-locked memory stays so. Overrides `SYNCEDMEM_PINNED_LIMIT`; by default half of the process's memory.
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_set_pinned_limit(bytes: usize) -> syncedmem_status_t {
    entry!(|| settings::PINNED_LIMIT.set(bytes as u64))
}

/// Writes to `*bytes` how many bytes may be page-locked in all.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_get_pinned_limit(bytes: *mut usize) -> syncedmem_status_t {
    entry!(out(bytes), |bytes| bytes.set(limit::pinned_limit() as usize))
}
