//! Records of mapped blocks. A block without a record came from malloc's family.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use syncedmem_trace::address_hash::{AddressMap, address_map};

use crate::memory::mapping::Mapping;
use crate::platform::sync::{Lock, locked_static};

type Records = AddressMap<Record>;

struct Record {
    mapping: Mapping,
    spare: u64,
}

locked_static! { static RECORDS: Lock<Records> = Lock::new(address_map()); }

/// The sum of the records' `spare`.
static SPARE: AtomicU64 = AtomicU64::new(0);

/// `None`: the mapping was unmapped, for lack of memory for a record.
pub fn keep(mapping: Mapping, bytes: usize) -> Option<NonNull<c_void>> {
    let block = mapping.block();
    let spare = mapping.room().saturating_sub(bytes) as u64;
    let kept = RECORDS.with(|records| {
        records.try_reserve(1).ok()?;
        records.insert(block.addr().get(), Record { mapping, spare });
        SPARE.fetch_add(spare, Relaxed);
        Some(block)
    });
    if kept.is_none() {
        mapping.unmap();
    }
    kept
}

pub fn spare() -> u64 {
    SPARE.load(Relaxed)
}

/// Whether `address` is a page's, as each mapping's is, and few of malloc's blocks. Takes no lock.
#[inline]
pub fn may_know(address: NonNull<c_void>) -> bool {
    const SMALLEST_PAGE: usize = 4096;
    address.addr().get() % SMALLEST_PAGE == 0
}

pub fn take(address: NonNull<c_void>) -> Option<Mapping> {
    if !may_know(address) {
        return None;
    }
    let Record { mapping, spare } = RECORDS.with(|records| records.remove(&address.addr().get()))?;
    SPARE.fetch_sub(spare, Relaxed);
    Some(mapping)
}
