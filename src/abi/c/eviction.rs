//! Eviction of objects when memory runs out.
#![expect(unsafe_code, reason = "C functions")]

use super::object::syncedmem_t;
use crate::abi::arguments::one_of;
use crate::abi::opaque::{ask, with};
use crate::abi::status::syncedmem_status_t;
use crate::object::SyncedMemory;
use crate::object::eviction::policy::Policy;

/// What the library may evict of an object when memory runs out.
#[expect(non_camel_case_types, reason = "the names of the C API")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum syncedmem_eviction_t {
    /// Nothing.
    SYNCEDMEM_EVICT_NEVER = 0,
    /// A side that the other can replace.
    SYNCEDMEM_EVICT_REDUNDANT = 1,
    /// Any side. The newest data is copied to the other side first.
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

/// Sets what the library may evict of the object when memory runs out: a `syncedmem_eviction_t`.
///
/// If the device has no room for a block, the library gives back, until it has: idle blocks; device sides of marked
/// objects that the host can replace; device sides with the newest data, after a copy to the host
/// (`SYNCEDMEM_EVICT_ALWAYS`). The least recently used objects go first. If the host has no room, or a block would
/// exceed `SYNCEDMEM_HOST_LIMIT`, it does the same with the sides exchanged. If page-locked memory runs out, the block
/// is pageable and nothing is evicted. Once the process has captured a CUDA graph (see "Graphs" above), objects with a
/// device block or page-locked host memory are not evicted.
///
/// Each later call that returns an address of the object's data (`syncedmem_cpu_data`, `syncedmem_mutable_gpu_data` and
/// the like, also in C++) opens an access; `syncedmem_end_access` ends it. Until then the address is valid, and nothing
/// of the object is evicted. An object whose accesses are never ended, as in Caffe, therefore keeps both sides. An
/// eviction waits for device work that was started before the access ended. Addresses from before this call are not
/// valid any more.
///
/// While no access is open, the head may change at any time: from `SYNCEDMEM_SYNCED` to the side that stays, and with
/// `SYNCEDMEM_EVICT_ALWAYS` from one side to the other. Therefore end the access that filled the host after
/// `syncedmem_async_gpu_push`, not before it.
///
/// Never evicted are borrowed memory, and the host side while the device side is borrowed. The newest data is not
/// copied to borrowed memory, nor, with several devices, to one where the object has no block. A host block of
/// `syncedmem_pin` may be evicted; the next one is allocated as usual.
///
/// `SYNCEDMEM_EVICT_NEVER` removes the mark and forgets open accesses. A changed mark keeps them open.
///
/// Errors: `INVALID_ARGUMENT` (also another number), `INVALID_HANDLE`, `OUT_OF_MEMORY` (nothing has changed),
/// `WRONG_DEVICE` (with the device check on), `REENTERED`, `EXPORTED` (a first mark while tensors of the object are in
/// use).
///
/// # Safety
/// `mem` is NULL or a handle. Addresses from before a first mark are not used any more. The object is ended by this
/// library (`syncedmem_destroy`, `syncedmem_destruct`, the C++ destructor) before its memory goes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_set_evictable(mem: *mut syncedmem_t, how: i32) -> syncedmem_status_t {
    let what = "how is not a syncedmem_eviction_t; pass SYNCEDMEM_EVICT_NEVER (0), SYNCEDMEM_EVICT_REDUNDANT (1) or \
                SYNCEDMEM_EVICT_ALWAYS (2)";
    let set = |object: &SyncedMemory| {
        object.set_evictable(one_of(how, [Policy::Never, Policy::Redundant, Policy::Always], what)?)
    };
    // SAFETY: the caller guarantees it.
    unsafe { with("syncedmem_set_evictable", mem, set) }
}

/// Writes to `*how` what the library may evict of the object.
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

/// Ends one access: its address is not used any more. Does nothing if the object is not evictable, so that the same
/// code serves both.
///
/// Errors: `INVALID_ARGUMENT` (NULL or misaligned), `INVALID_HANDLE`, `INVALID_STATE` (no access is open).
///
/// # Safety
/// `mem` is NULL or a handle; one of the addresses that it returned is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_end_access(mem: *mut syncedmem_t) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { with("syncedmem_end_access", mem, SyncedMemory::end_access) }
}
