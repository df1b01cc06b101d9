//! Host memory that is page-locked where it is.
#![expect(unsafe_code, reason = "C functions")]

use super::object::{syncedmem_t, with};
use crate::abi::status::syncedmem_status_t;
use crate::object::SyncedMemory;

/// Page-locks the object's host memory where it is: what `syncedmem_set_cpu_data` lent, or a pageable block of its own. Its
/// address and its contents stay, and copies to and from it go at the speed of page-locked memory. It takes long (1 to 3
/// GB/s, once), so it is for memory that is copied again and again. Nothing is done where the memory is page-locked already;
/// what somebody else page-locked stays theirs to undo.
///
/// It ends with `syncedmem_unpin`. Memory that was lent also ends it when the object lets it go: when its host side is set to
/// other memory or released, when it grows or ends; it must not be freed before, and may be right after. To end it is to wait for
/// the context that was current when the memory was page-locked, and for no other device: unpin it yourself where no thread may
/// wait for that. A block of the object's own stays page-locked when the object lets it go, and lies idle (`SYNCEDMEM_MEMORY_PINNED`)
/// until `syncedmem_trim`, until memory runs out, or until more is page-locked than its budget allows to lie idle.
///
/// Objects to which the same address was lent share it: the last one ends it. The driver refuses to copy memory of which only a
/// part is page-locked: page-lock the longest first, and have no copies of overlapping memory at other addresses in flight when
/// it ends.
///
/// Errors: `INVALID_ARGUMENT`, `INVALID_HANDLE`, `NO_GPU`, `INVALID_STATE` (there is no host memory yet, or a shorter part
/// of it is page-locked for another object), `OUT_OF_MEMORY` (`SYNCEDMEM_PINNED_LIMIT`), `DRIVER`, `PENDING`, `REENTERED`.
///
/// # Safety
/// `mem` is NULL or a handle; memory that was lent stays until the object lets it go.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_pin(mem: *mut syncedmem_t) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it, of the memory.
    let pin = |object: &SyncedMemory| unsafe { object.pin() };
    // SAFETY: the caller guarantees it, of the handle.
    unsafe { with("syncedmem_pin", mem, pin) }
}

/// Undoes `syncedmem_pin`, after what the object has in flight and what runs in the context that was current then. Where nothing was done, nothing is undone; a block that was
/// made page-locked stays so.
///
/// Errors: `INVALID_ARGUMENT`, `INVALID_HANDLE`, `NO_GPU`, `DRIVER`, `PENDING` (the memory is page-locked still),
/// `REENTERED`.
///
/// # Safety
/// `mem` is NULL or a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_unpin(mem: *mut syncedmem_t) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { with("syncedmem_unpin", mem, SyncedMemory::unpin) }
}
