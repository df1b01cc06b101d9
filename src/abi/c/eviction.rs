//! Eviction.

use super::object::syncedmem_t;
use crate::abi::arguments::{handle, one_of, out_number};
use crate::abi::call::entry;
use crate::abi::status::syncedmem_status_t;

/// What may be evicted of an object when memory runs out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum syncedmem_eviction_t {
    /// Nothing.
    SYNCEDMEM_EVICT_NEVER = 0,
    /// The device side, while the host side is current too.
    SYNCEDMEM_EVICT_REDUNDANT = 1,
}

/// Sets what may be evicted of the object: a `syncedmem_eviction_t`. Addresses from before a first mark are not valid
/// any more. `SYNCEDMEM_EVICT_NEVER` removes the mark and forgets open accesses; a second mark keeps them.
///
/// Where a device block finds no room, the library gives back, until it does: idle blocks, then device sides of marked
/// objects whose host side is current too. The least recently used objects go first.
///
/// Each later call that returns an address of the object's data, also in C++, opens an access. Until
/// `syncedmem_end_access` the address is valid, and nothing of the object is evicted. An eviction waits for device work
/// that was started before the access ended.
///
/// While no access is open, the head may change from SYNCED to HEAD_AT_CPU at any time. So end the access that filled
/// the host after `syncedmem_async_gpu_push`.
///
/// Borrowed device memory is never evicted, nor, after a capture (see "Graphs" above), anything.
///
/// Errors: `EXPORTED` (a first mark while tensors of the object are in use).
///
/// # Safety
/// The object is ended by this library before its memory goes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_set_evictable(mem: *mut syncedmem_t, how: i32) -> syncedmem_status_t {
    let what = "how is not a syncedmem_eviction_t; pass SYNCEDMEM_EVICT_NEVER (0) or SYNCEDMEM_EVICT_REDUNDANT (1)";
    entry!(handle(mem), |object| object.set_evictable(one_of(how, [false, true], what)?)?)
}

/// Writes to `*how` what may be evicted of the object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_get_evictable(
    mem: *const syncedmem_t,
    how: *mut syncedmem_eviction_t,
) -> syncedmem_status_t {
    entry!(handle(mem), out_number(how), |object, how| how.set(i32::from(object.is_evictable()?)))
}

/// Ends one access, whose address is not used any more. Nothing is done if the object is not evictable.
///
/// Errors: `INVALID_STATE` (no access is open).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_end_access(mem: *mut syncedmem_t) -> syncedmem_status_t {
    entry!(handle(mem), |object| object.end_access()?)
}
