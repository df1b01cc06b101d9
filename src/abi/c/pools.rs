//! Pools: blocks that were given back, kept for the next object that one of them fits.
#![expect(unsafe_code, reason = "C functions")]

use super::call;
use super::pointers::Out;
use super::policy;
use crate::abi::status::syncedmem_status_t;
use crate::error::Error;
use crate::memory::cache::budget;
use crate::object::trim;
use crate::settings;
use crate::state::kind::Kind;

/// A kind of memory.
#[expect(non_camel_case_types, reason = "the names of the C API")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum syncedmem_memory_t {
    /// Host memory that is not page-locked.
    SYNCEDMEM_MEMORY_PAGEABLE = 0,
    /// Page-locked host memory.
    SYNCEDMEM_MEMORY_PINNED = 1,
    /// Device memory.
    SYNCEDMEM_MEMORY_DEVICE = 2,
    /// All three.
    SYNCEDMEM_MEMORY_ALL = 3,
}

/// When a device or page-locked block that was given back is handed out again: work of the device's may be using it still.
#[expect(non_camel_case_types, reason = "the names of the C API")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum syncedmem_reuse_t {
    /// After its context was synchronised since: whatever used it on that context's streams is done. Streams of other
    /// contexts are to be declared with `syncedmem_record_stream`.
    SYNCEDMEM_REUSE_SYNCHRONISED = 0,
    /// After the work that the legacy default stream had when it was given back, and what was declared with
    /// `syncedmem_record_stream`.
    SYNCEDMEM_REUSE_STREAM = 1,
}

/// The kind of a number; `None` for all of them.
fn kind(memory: i32) -> Result<Option<Kind>, Error> {
    match memory {
        0 => Ok(Some(Kind::Pageable)),
        1 => Ok(Some(Kind::Pinned)),
        2 => Ok(Some(Kind::Device)),
        3 => Ok(None),
        _ => Err(Error::InvalidArgument {
            what: "memory is not a syncedmem_memory_t; pass SYNCEDMEM_MEMORY_PAGEABLE (0), SYNCEDMEM_MEMORY_PINNED (1), \
                   SYNCEDMEM_MEMORY_DEVICE (2) or SYNCEDMEM_MEMORY_ALL (3)",
        }),
    }
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

/// Gives the idle blocks of a kind of memory, a `syncedmem_memory_t`, back to the system or the driver. Data of objects is
/// not touched.
///
/// Errors: `INVALID_ARGUMENT` (another number).
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_trim(memory: i32) -> syncedmem_status_t {
    call("syncedmem_trim", || {
        kinds(memory)?.map(trim::give_back_idle).sum::<u64>();
        Ok(())
    })
}

/// Writes how many bytes of a kind of memory, a `syncedmem_memory_t`, lie idle now to `*bytes`.
///
/// Errors: `INVALID_ARGUMENT` (another number; NULL or misaligned).
///
/// # Safety
/// `bytes` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_idle_bytes(memory: i32, bytes: *mut usize) -> syncedmem_status_t {
    call("syncedmem_idle_bytes", || {
        // SAFETY: the caller guarantees it.
        let out = unsafe { Out::new(bytes) }?;
        out.set(kinds(memory)?.map(trim::idle).sum::<u64>() as usize);
        Ok(())
    })
}

/// Says whether blocks that objects give back are kept for the next object from now on. Without that every block is
/// allocated anew and given back at once, as Caffe's own does; what lies idle is given back now. Wins over
/// `SYNCEDMEM_POOLS` (on, off).
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_set_pools(on: bool) -> syncedmem_status_t {
    call("syncedmem_set_pools", || {
        settings::POOLS.set(usize::from(!on));
        settings::changed();
        if !on {
            Kind::ALL.into_iter().map(trim::give_back_idle).sum::<u64>();
        }
        Ok(())
    })
}

/// Writes to `*on` whether blocks are kept for the next object.
///
/// Errors: `INVALID_ARGUMENT` (NULL).
///
/// # Safety
/// `on` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_get_pools(on: *mut bool) -> syncedmem_status_t {
    call("syncedmem_get_pools", || {
        // SAFETY: the caller guarantees it.
        unsafe { Out::new(on) }?.set(settings::pools());
        Ok(())
    })
}

/// Says how many bytes of one kind of memory, a `syncedmem_memory_t`, may lie idle at most; 0 keeps none. For device memory
/// that is for each device. Wins over `SYNCEDMEM_PAGEABLE_POOL`, `SYNCEDMEM_PINNED_POOL` and `SYNCEDMEM_DEVICE_POOL`.
///
/// By default a quarter of the process's memory if it is pageable, a sixteenth if it is page-locked, and for a device a
/// quarter of what would be free on it if nothing lay idle, but no more than an eighth of the device. Idle pageable memory
/// and what is in use never exceed together the most that was in use at once, but for a sixteenth and 2 MiB.
///
/// Errors: `INVALID_ARGUMENT` (another number, or SYNCEDMEM_MEMORY_ALL).
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_set_pool_budget(memory: i32, bytes: usize) -> syncedmem_status_t {
    call("syncedmem_set_pool_budget", || {
        let kind = one_kind(memory)?;
        budget::setting(kind).set(bytes as u64);
        settings::changed();
        trim::reduce(kind);
        Ok(())
    })
}

/// Writes how many bytes of one kind of memory, a `syncedmem_memory_t`, may lie idle to `*bytes`; for device memory, as long
/// as no number was given, what may on the device where most may.
///
/// Errors: `INVALID_ARGUMENT` (another number, or SYNCEDMEM_MEMORY_ALL; NULL or misaligned).
///
/// # Safety
/// `bytes` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_get_pool_budget(memory: i32, bytes: *mut usize) -> syncedmem_status_t {
    call("syncedmem_get_pool_budget", || {
        // SAFETY: the caller guarantees it.
        let out = unsafe { Out::new(bytes) }?;
        out.set(trim::budget(one_kind(memory)?) as usize);
        Ok(())
    })
}

/// Says for how many seconds a pageable block may lie idle before it is given back. Device and page-locked blocks are not
/// given back for their age, but beyond the budget, by `syncedmem_trim`, and when memory runs out. Wins over
/// `SYNCEDMEM_POOL_AGE`; by default 10.
///
/// Errors: `INVALID_ARGUMENT` (negative, or no number).
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_set_pool_age(seconds: f64) -> syncedmem_status_t {
    call("syncedmem_set_pool_age", || {
        let what = "seconds is negative or no number; pass 0 or more";
        settings::POOL_AGE.set(seconds).then_some(()).ok_or(Error::InvalidArgument { what })
    })
}

/// Writes for how many seconds a pageable block may lie idle to `*seconds`.
///
/// Errors: `INVALID_ARGUMENT` (NULL or misaligned).
///
/// # Safety
/// `seconds` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_get_pool_age(seconds: *mut f64) -> syncedmem_status_t {
    call("syncedmem_get_pool_age", || {
        // SAFETY: the caller guarantees it.
        unsafe { Out::new(seconds) }?.set(settings::POOL_AGE.get() as f64 / 1000.0);
        Ok(())
    })
}

/// Says how many bytes this library may page-lock in all: for objects, idle, and registered in place. Beyond that a host
/// block is pageable, which is no error. What is page-locked already stays so. Wins over `SYNCEDMEM_PINNED_LIMIT`; by
/// default half of the process's memory.
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_set_pinned_limit(bytes: usize) -> syncedmem_status_t {
    call("syncedmem_set_pinned_limit", || {
        settings::PINNED_LIMIT.set(bytes as u64);
        Ok(())
    })
}

/// Writes how many bytes may be page-locked in all to `*bytes`.
///
/// Errors: `INVALID_ARGUMENT` (NULL or misaligned).
///
/// # Safety
/// `bytes` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_get_pinned_limit(bytes: *mut usize) -> syncedmem_status_t {
    call("syncedmem_get_pinned_limit", || {
        // SAFETY: the caller guarantees it.
        unsafe { Out::new(bytes) }?.set(budget::pinned_limit() as usize);
        Ok(())
    })
}

/// Says when device and page-locked blocks that are given back from now on are handed out again: a `syncedmem_reuse_t`.
/// Wins over `SYNCEDMEM_REUSE` (synchronised, stream).
///
/// Errors: `INVALID_ARGUMENT` (another number).
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_set_reuse(reuse: i32) -> syncedmem_status_t {
    let what = "reuse is not a syncedmem_reuse_t; pass SYNCEDMEM_REUSE_SYNCHRONISED (0) or SYNCEDMEM_REUSE_STREAM (1)";
    policy::set("syncedmem_set_reuse", &settings::REUSE, reuse, what)
}

/// Writes the `syncedmem_reuse_t` in force to `*reuse`.
///
/// Errors: `INVALID_ARGUMENT` (NULL or misaligned).
///
/// # Safety
/// `reuse` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_get_reuse(reuse: *mut syncedmem_reuse_t) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { policy::get("syncedmem_get_reuse", &settings::REUSE, reuse.cast()) }
}
