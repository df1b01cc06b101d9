//! Blocks of memory for objects, in layers: the system and the driver are the sources, `cache` keeps freed blocks for reuse, `limit`
//! counts, and `observed` records. Small blocks bypass these layers while no flag is set (`host::allocate_small`).
#![expect(unsafe_code, reason = "blocks are freed")]

pub(crate) mod arena;
pub(crate) mod blocks;
pub(crate) mod cache;
pub(crate) mod device;
pub(crate) mod driver;
pub(crate) mod host;
pub(crate) mod limit;
pub(crate) mod malloc;
pub(crate) mod mapping;
mod observed;
pub(crate) mod trim;

use std::ffi::c_void;
use std::ptr::NonNull;

use blocks::Maker;
use cache::host::Kept;

/// Gives a block of `bytes` back to its maker, or keeps it in a cache.
///
/// # Safety
/// The block's entry was removed from the table, and nothing uses the block.
unsafe fn give_back(address: NonNull<c_void>, maker: Maker, bytes: usize) {
    match maker {
        // SAFETY: the caller of `give_back` guarantees that nothing uses the block.
        Maker::Mapping(mapping) => unsafe { cache::host::free(Kept::Mapped(mapping), bytes) },
        // SAFETY: the caller of `give_back` guarantees that nothing uses the block.
        Maker::Driver(allocation) => unsafe { driver::allocator::give_back(address, allocation) },
        Maker::Arena => {
            if crate::settings::fills_with_junk() {
                // SAFETY: the block has `bytes`, and the caller of `give_back` guarantees that nothing uses it.
                unsafe { host::fill_with_junk(address, bytes) };
            }
            arena::host::give_back(address);
        }
        Maker::DeviceArena(allocation) => arena::device::give_back(address, allocation),
    }
}
