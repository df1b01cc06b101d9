//! Eviction.

use super::object::syncedmem_t;
use crate::abi::arguments::{handle, one_of, out_number};
use crate::abi::call::entry;
use crate::abi::status::syncedmem_status_t;
use crate::object::eviction::uses::Policy;

/// What may be evicted of an object when memory runs out.
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

const POLICIES: [Policy; 3] = [Policy::Never, Policy::Redundant, Policy::Always];

/// Sets what may be evicted of the object: a `syncedmem_eviction_t`. Addresses from before a first mark are not valid
/// any more. `SYNCEDMEM_EVICT_NEVER` removes the mark and forgets open accesses; a changed mark keeps them.
///
/// Where a device block finds no room, the library gives back, until it does: idle blocks; device sides of marked
/// objects that the host can replace; device sides with the newest data, after a copy to the host
/// (`SYNCEDMEM_EVICT_ALWAYS`). The least recently used objects go first. For a host block, also one beyond
/// `SYNCEDMEM_HOST_LIMIT`, the sides are exchanged. If page-locked memory runs out, nothing is evicted: the block is
/// pageable.
///
/// Each later call that returns an address of the object's data, also in C++, opens an access. Until
/// `syncedmem_end_access` the address is valid, and nothing of the object is evicted. An eviction waits for device work
/// that was started before the access ended.
///
/// While no access is open, the head may change at any time: from SYNCED to the side that stays, and with
/// `SYNCEDMEM_EVICT_ALWAYS` from one side to the other. So end the access that filled the host after
/// `syncedmem_async_gpu_push`.
///
/// Never evicted are borrowed memory, the host side while the device side is borrowed, and, after a capture (see
/// "Graphs" above), objects with a device block or page-locked host memory. The newest data is not copied to borrowed
/// memory, nor, of several devices, to one where the object has no block. Memory of `syncedmem_pin` may be evicted.
///
/// Errors: `EXPORTED` (a first mark while tensors of the object are in use).
///
/// # Safety
/// The object is ended by this library before its memory goes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_set_evictable(mem: *mut syncedmem_t, how: i32) -> syncedmem_status_t {
    let what = "how is not a syncedmem_eviction_t; pass SYNCEDMEM_EVICT_NEVER (0), SYNCEDMEM_EVICT_REDUNDANT (1) or \
                SYNCEDMEM_EVICT_ALWAYS (2)";
    entry!(handle(mem), |object| object.set_evictable(one_of(how, POLICIES, what)?)?)
}

/// Writes to `*how` what may be evicted of the object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_get_evictable(
    mem: *const syncedmem_t,
    how: *mut syncedmem_eviction_t,
) -> syncedmem_status_t {
    entry!(handle(mem), out_number(how), |object, how| how.set(object.evictable()? as i32))
}

/// Ends one access, whose address is not used any more. Nothing is done if the object is not evictable.
///
/// Errors: `INVALID_STATE` (no access is open).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_end_access(mem: *mut syncedmem_t) -> syncedmem_status_t {
    entry!(handle(mem), |object| object.end_access()?)
}
