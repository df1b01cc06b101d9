//! The driver's allocations themselves: how each kind is asked for and given back, and how one is known again.
#![expect(unsafe_code, reason = "the driver's functions are called")]

use std::ffi::{c_uint, c_void};
use std::ptr::NonNull;

use cudarc::driver::sys::{CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTREGISTER_PORTABLE, CUpointer_attribute};

use super::capture::{self, Unhindered};
use super::context::{Context, Within};
use super::driver::{self, Driver};
use super::status;
use crate::error::DriverFailure;
use crate::head::Side;
use crate::mapping::{HUGE_PAGE, Mapping};
use crate::settings;

/// How a block was come by, and so how it is given back.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// The driver allocated it.
    Allocated,
    /// The system did, and the driver page-locked it.
    Registered(Mapping),
}

// SAFETY: a mapping belongs to the process, not to a thread.
unsafe impl Send for Source {}

/// A block of the driver's.
#[derive(Clone, Copy, Debug)]
pub struct Allocation {
    /// Its first byte.
    pub address: NonNull<c_void>,
    /// How many bytes it has: those that were asked for, or to the end of their last page.
    pub bytes: usize,
    /// How it was come by.
    pub source: Source,
}

/// Asks for a block of an object's, in the current context.
pub fn ask(driver: &Driver, side: Side, bytes: usize) -> Result<Allocation, DriverFailure> {
    if side == Side::Host && bytes >= HUGE_PAGE && registers() {
        if let Some(registered) = register(driver, bytes) {
            return Ok(registered);
        }
    }
    Ok(Allocation { address: allocate(driver, side, bytes)?, bytes, source: Source::Allocated })
}

/// The driver's own memory of one side, in the current context.
pub fn allocate(driver: &Driver, side: Side, bytes: usize) -> Result<NonNull<c_void>, DriverFailure> {
    let mut address = std::ptr::null_mut();
    match side {
        Side::Device => {
            let mut number = 0;
            // SAFETY: `number` is writable.
            unsafe { driver.mem_alloc(&mut number, bytes) }?;
            // Never dereferenced here: it is the device's.
            address = std::ptr::without_provenance_mut(number as usize);
        }
        // Every context may use it. Never write-combined, which the host reads at a crawl.
        // SAFETY: `address` is writable.
        Side::Host => unsafe { driver.host_alloc(&mut address, bytes, CU_MEMHOSTALLOC_PORTABLE as c_uint) }?,
    }
    // It was not 0 bytes that were asked for, so a success has an address.
    NonNull::new(address).ok_or(DriverFailure { call: "an allocation without an address", status: status::SUCCESS })
}

/// Page-locked memory on huge pages that are there before the driver looks for them: it has fewer of them to lock, one by
/// one, than where it allocates small ones itself. `None`: it is to be allocated by the driver after all.
fn register(driver: &Driver, bytes: usize) -> Option<Allocation> {
    let mapping = Mapping::of(bytes)?;
    if !mapping.populate() {
        mapping.unmap();
        return None;
    }
    let (address, room) = (mapping.block(), mapping.room());
    // SAFETY: the range is the new mapping's, and it stays until it is unregistered.
    match unsafe { driver.host_register(address.as_ptr(), room, CU_MEMHOSTREGISTER_PORTABLE as c_uint) } {
        Ok(()) => Some(Allocation { address, bytes: room, source: Source::Registered(mapping) }),
        Err(_) => {
            mapping.unmap();
            None
        }
    }
}

/// Whether large blocks are registered mappings, as was asked for. Where an inlined original may free a block, it must be one
/// that `cudaFreeHost` takes.
fn registers() -> bool {
    settings::registers_pinned_blocks() && !settings::malloc_only() && forks_copy_locked_pages()
}

/// Whether the system copies page-locked pages for a forked child, as Linux does since 5.12. Before, the parent's next write
/// moved the page away from under the device; memory that the driver allocates is not touched by that.
fn forks_copy_locked_pages() -> bool {
    crate::limits::kernel().is_some_and(|version| version >= (5, 12))
}

/// Gives a block back, in the context that it is in. Registered memory is then the system's again, to be unmapped.
///
/// # Safety
/// It is such a block of `side`, nobody refers to it any more, and nothing of the device's uses it.
pub unsafe fn hand_back(
    driver: &Driver,
    side: Side,
    address: NonNull<c_void>,
    source: Source,
) -> Result<(), DriverFailure> {
    match (side, source) {
        // SAFETY: the caller guarantees it.
        (Side::Device, _) => unsafe { driver.mem_free(driver::address(address.as_ptr())) },
        // SAFETY: the caller guarantees it.
        (Side::Host, Source::Allocated) => unsafe { driver.host_free(address.as_ptr()) },
        // SAFETY: the caller guarantees it.
        (Side::Host, Source::Registered(_)) => unsafe { driver.host_unregister(address.as_ptr()) },
    }
}

/// The driver's number for the allocation at `address`: no two of a process have the same.
pub fn number(driver: &Driver, address: u64) -> Result<u64, DriverFailure> {
    let mut id = 0u64;
    let attribute = CUpointer_attribute::CU_POINTER_ATTRIBUTE_BUFFER_ID;
    // SAFETY: this attribute is an unsigned long long, and `id` is writable.
    unsafe { driver.pointer_attribute((&raw mut id).cast(), attribute, address) }?;
    Ok(id)
}

/// Whether the allocation at `address` is still the one of that number; 0 says that nobody knows, and passes for yes.
///
/// To be asked before a context or an event that was there with it is touched: a driver does not refuse the handles of
/// a context that is gone, it follows them. A pointer it looks up.
pub fn is_alive(driver: &Driver, address: u64, id: u64, context: Context) -> Result<bool, DriverFailure> {
    if id == 0 {
        return Ok(true);
    }
    let answer = match number(driver, address) {
        // Some want a context to be current.
        Err(failure) if failure.status == status::INVALID_CONTEXT => {
            let _within = Within::enter(driver, context)?;
            number(driver, address)
        }
        answer => answer,
    };
    match answer {
        // Another number: it is gone, and the address is somebody else's by now.
        Ok(now) => Ok(now == id),
        Err(failure) if failure.status == status::INVALID_VALUE => Ok(false),
        Err(failure) => Err(failure),
    }
}

/// Waits until the legacy default stream of the current context has come past everything it was given.
pub fn settle(driver: &Driver) -> Result<(), DriverFailure> {
    capture::spare_legacy_stream(driver)?;
    let _unhindered = Unhindered::begin(driver);
    // SAFETY: null is the legacy default stream.
    unsafe { driver.stream_synchronize(std::ptr::null_mut()) }
}
