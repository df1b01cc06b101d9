//! The records of mapped blocks. A block without a record came from malloc's family.

use std::ffi::c_void;
use std::ptr::NonNull;

use syncedmem_trace::address_hash::{AddressMap, address_map};

use crate::memory::mapping::Mapping;
use crate::platform::sync::{Lock, locked_static};

type Records = AddressMap<Mapping>;

locked_static! { static RECORDS: Lock<Records> = Lock::new(address_map()); }

/// Records `mapping` and returns its block; unmaps it and returns `None` if there is no memory for a record.
pub fn keep(mapping: Mapping) -> Option<NonNull<c_void>> {
    let block = mapping.block();
    let kept = RECORDS.with(|records| {
        records.try_reserve(1).ok()?;
        records.insert(block.addr().get(), mapping);
        Some(block)
    });
    if kept.is_none() {
        mapping.unmap();
    }
    kept
}

pub fn knows(address: NonNull<c_void>) -> bool {
    RECORDS.with(|records| records.contains_key(&address.addr().get()))
}

/// Whether `address` is a page's, as a mapping's is; few of malloc's blocks are. Takes no lock.
#[inline]
pub fn may_know(address: NonNull<c_void>) -> bool {
    const SMALLEST_PAGE: usize = 4096;
    address.addr().get() % SMALLEST_PAGE == 0
}

pub fn take(address: NonNull<c_void>) -> Option<Mapping> {
    if may_know(address) { RECORDS.with(|records| records.remove(&address.addr().get())) } else { None }
}
