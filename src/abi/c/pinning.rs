//! Page-locking in place.

use super::object::syncedmem_t;
use crate::abi::arguments::handle;
use crate::abi::call::entry;
use crate::abi::status::syncedmem_status_t;

/// Page-locks the object's host memory in place: memory of `syncedmem_set_cpu_data`, or a pageable block of its own.
/// Address and contents stay; copies then run at the speed of page-locked memory. It takes long (1 to 3 GB/s, once), so
/// use it for memory that is copied repeatedly. Memory that is page-locked already stays as it is; if another library
/// did it, that one unlocks it.
///
/// `syncedmem_unpin` undoes it. Borrowed memory is also unlocked when the object releases it (its host side is set or
/// released, the object grows or ends): free it after that. Unlocking waits for the context that was current at
/// `syncedmem_pin`, and for no other device. An owned block that is given back stays page-locked, as idle
/// `SYNCEDMEM_MEMORY_PINNED`, until `syncedmem_trim`, until memory runs out, or until its budget is exceeded.
///
/// Objects that borrow the same address share the lock: the last one unlocks it. The driver refuses copies of memory
/// that is page-locked in part: page-lock the longest part first, and have no copies of overlapping memory in flight
/// while it is unlocked.
///
/// Errors: `INVALID_STATE` (no host memory yet, or a shorter part of it is page-locked for another object),
/// `OUT_OF_MEMORY` (`SYNCEDMEM_PINNED_LIMIT`).
///
/// # Safety
/// Borrowed memory stays until the object releases it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_pin(mem: *mut syncedmem_t) -> syncedmem_status_t {
    entry!(handle(mem), |object| {
        // SAFETY: the caller guarantees the memory.
        unsafe { object.pin() }?;
    })
}

/// Undoes `syncedmem_pin`, after a copy in flight. Blocks that were allocated page-locked stay so.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_unpin(mem: *mut syncedmem_t) -> syncedmem_status_t {
    entry!(handle(mem), |object| object.unpin()?)
}
