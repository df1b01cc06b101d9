//! Objects that may be evicted when memory runs out.
#![expect(unsafe_code, reason = "C functions")]

use super::object::{ask, syncedmem_t, with};
use crate::abi::status::syncedmem_status_t;
use crate::error::Error;
use crate::object::SyncedMemory;
use crate::object::eviction::policy::Policy;

/// What the library may give back of an object on its own when memory runs out.
#[expect(non_camel_case_types, reason = "the names of the C API")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum syncedmem_eviction_t {
    /// Nothing.
    SYNCEDMEM_EVICT_NEVER = 0,
    /// A side that the other can replace.
    SYNCEDMEM_EVICT_REDUNDANT = 1,
    /// Any side. If it holds the newest data, that is copied to the other side before.
    SYNCEDMEM_EVICT_ALWAYS = 2,
}

impl From<Policy> for syncedmem_eviction_t {
    fn from(how: Policy) -> Self {
        match how {
            Policy::Never => Self::SYNCEDMEM_EVICT_NEVER,
            Policy::Redundant => Self::SYNCEDMEM_EVICT_REDUNDANT,
            Policy::Always => Self::SYNCEDMEM_EVICT_ALWAYS,
        }
    }
}

/// Says what the library may give back of the object when memory runs out: a `syncedmem_eviction_t`.
///
/// When the device has no room for a block, these are given back in this order, until there is: idle blocks; device
/// sides of such objects that the host can replace; device sides that hold the newest data, after it was copied to the
/// host (`SYNCEDMEM_EVICT_ALWAYS`). Those go first that were used the longest ago. When the host has no room, or the
/// block would exceed `SYNCEDMEM_HOST_LIMIT`, it is the same with the sides changed. For page-locked memory nothing is
/// evicted: where there is none left, a block is pageable.
///
/// From this call on, every call that hands out an address of the object's data (`syncedmem_cpu_data`,
/// `syncedmem_mutable_gpu_data` and their like, and those of C++) opens an access, to be ended with
/// `syncedmem_end_access`. The address is valid until then; while an access is open, nothing of the object is given
/// back. So an object stays whole whose accesses are never ended, as Caffe never does. Work on the device that was
/// started before the access was ended is waited for. Addresses that were handed out before this call are not valid any
/// more, nor are any after the end of their access.
///
/// The head of such an object may change at any time while no access is open: from `SYNCEDMEM_SYNCED` to that of the
/// side that stays, and with `SYNCEDMEM_EVICT_ALWAYS` from one side to the other. So end the access that filled the host
/// after `syncedmem_async_gpu_push`, not before it. What was borrowed is never given back, and no host side while the
/// device's is borrowed; the newest data is neither copied to borrowed memory, nor, where there are several devices, to one
/// on which the object has no block yet. A host block that `syncedmem_pin` has page-locked may be evicted as any other, and
/// the next one is as it is made.
///
/// With `SYNCEDMEM_EVICT_NEVER` the mark is taken away, and open accesses count no more. A mark that is changed leaves
/// them open. What the mark asks of whoever calls this: the object is ended by this library (`syncedmem_destroy`,
/// `syncedmem_destruct`, the C++ destructor) before its memory goes.
///
/// Errors: `INVALID_ARGUMENT` (also another number), `INVALID_HANDLE`, `OUT_OF_MEMORY` (nothing has changed),
/// `WRONG_DEVICE` (with the device check on), `REENTERED`, `EXPORTED` (a first mark while tensors of the object are in use).
///
/// # Safety
/// `mem` is NULL or a handle; addresses of its data that were handed out before are not used any more, unless the object
/// was marked already and their access is open. The object is ended by this library before its memory goes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_set_evictable(mem: *mut syncedmem_t, how: i32) -> syncedmem_status_t {
    let what = "how is not a syncedmem_eviction_t; pass SYNCEDMEM_EVICT_NEVER (0), SYNCEDMEM_EVICT_REDUNDANT (1) or \
                SYNCEDMEM_EVICT_ALWAYS (2)";
    let set =
        |object: &SyncedMemory| object.set_evictable(Policy::from_number(how).ok_or(Error::InvalidArgument { what })?);
    // SAFETY: the caller guarantees it.
    unsafe { with("syncedmem_set_evictable", mem, set) }
}

/// Writes what the library may give back of the object to `*how`.
///
/// Errors: `INVALID_ARGUMENT` (NULL or misaligned), `INVALID_HANDLE`.
///
/// # Safety
/// `mem` is NULL or a handle; `how` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_get_evictable(
    mem: *const syncedmem_t,
    how: *mut syncedmem_eviction_t,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { ask("syncedmem_get_evictable", mem, how, |object| object.evictable().map(Into::into)) }
}

/// Ends an access: one address that was handed out is not used any more. On an object that is not evictable it does
/// nothing, so that the same code serves both.
///
/// Errors: `INVALID_ARGUMENT` (NULL or misaligned), `INVALID_HANDLE`, `INVALID_STATE` (no access is open).
///
/// # Safety
/// `mem` is NULL or a handle; of the addresses that were handed out, one is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_end_access(mem: *mut syncedmem_t) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { with("syncedmem_end_access", mem, SyncedMemory::end_access) }
}
