//! The driver's allocations themselves: how each kind is asked for and given back, and how one is known again.
#![expect(unsafe_code, reason = "the driver's functions are called")]

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::NonNull;

use cudarc::driver::sys::{CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTREGISTER_PORTABLE};

use crate::cuda::context::{Context, ContextGuard};
use crate::cuda::driver::{self, Driver};
use crate::cuda::{attributes, pointer, status};
use crate::error::DriverFailure;
use crate::memory::mapping::{HUGE_PAGE, Mapping};
use crate::settings;
use crate::state::head::Side;

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

/// Asks for a block of an object's, in the current context, which is of `device`.
pub fn ask(driver: &Driver, device: c_int, side: Side, bytes: usize) -> Result<Allocation, DriverFailure> {
    if side == Side::Host
        && bytes >= HUGE_PAGE
        && registers()
        && attributes::why_not_registered(driver, device).is_none()
    {
        if let Some(registered) = register(driver, device, bytes) {
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
fn register(driver: &Driver, device: c_int, bytes: usize) -> Option<Allocation> {
    let mapping = Mapping::of(bytes)?;
    if !mapping.populate() {
        mapping.unmap();
        return None;
    }
    let (address, room) = (mapping.block(), mapping.room());
    // SAFETY: it is unmapped here where that fails, and otherwise with its block, after that was unregistered.
    match unsafe { page_lock(driver, device, &mapping) } {
        Ok(()) => Some(Allocation { address, bytes: room, source: Source::Registered(mapping) }),
        Err(_) => {
            mapping.unmap();
            None
        }
    }
}

/// Registers all of a mapping's block for every context, unless the driver is known to refuse that for `device`.
///
/// # Safety
/// The mapping stays until it is unregistered.
pub unsafe fn page_lock(driver: &Driver, device: c_int, mapping: &Mapping) -> Result<(), DriverFailure> {
    if let Some(failure) = attributes::refusal(driver, device) {
        return Err(failure);
    }
    let (address, room) = (mapping.block().as_ptr(), mapping.room());
    // SAFETY: the range is the mapping's, and it stays, says the caller.
    unsafe { driver.host_register(address, room, CU_MEMHOSTREGISTER_PORTABLE as c_uint) }
        .inspect_err(|&failure| attributes::note_refusal(device, failure))
}

/// Whether large blocks are registered mappings, as was asked for. Where an inlined original may free a block, it must be one
/// that `cudaFreeHost` takes.
fn registers() -> bool {
    settings::registers_pinned_blocks() && !settings::malloc_only() && forks_copy_locked_pages()
}

/// Whether the system copies page-locked pages for a forked child, as Linux does since 5.12. Before, the parent's next write
/// moved the page away from under the device; memory that the driver allocates is not touched by that.
fn forks_copy_locked_pages() -> bool {
    crate::platform::limits::kernel().is_some_and(|version| version >= (5, 12))
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

/// What tells an allocation from another one that its address belongs to later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    context: Context,
    /// The driver's own number for it; 0 if it has none for such memory.
    id: u64,
    /// The life of its context, which a reset of the device ends; 0 if the driver cannot say.
    context_id: u64,
}

impl Identity {
    /// That of the allocation at `address`, in the context that `guard` made current.
    pub fn of(driver: &Driver, guard: &ContextGuard<'_>, address: u64) -> Identity {
        let known = pointer::buffer(driver, address).ok().flatten();
        let is_of_context = known.is_some_and(|known| known.context == Some(guard.context));
        let context_id = if is_of_context { guard.context_id().unwrap_or(0) } else { 0 };
        Identity { context: guard.context, id: known.map_or(0, |known| known.id), context_id }
    }

    /// Whether [`Self::is_there`] can tell.
    pub fn is_certain(&self) -> bool {
        self.id != 0 || self.context_id != 0
    }

    /// The life of `context`, as long as the allocation is there; `None` if that is another context, or not known.
    pub fn context_id_in(&self, context: Context) -> Option<u64> {
        (self.context == context && self.context_id != 0).then_some(self.context_id)
    }

    /// Whether the allocation at `address` is still this one. Where nobody knows, it passes for it.
    ///
    /// To be asked before a context or an event that was there with it is touched: a driver does not refuse the handles of
    /// a context that is gone, it follows them. A pointer it looks up.
    pub fn is_there(&self, driver: &Driver, address: u64) -> Result<bool, DriverFailure> {
        if !self.is_certain() {
            return Ok(true);
        }
        match pointer::buffer(driver, address)? {
            Some(now) if self.id != 0 => Ok(now.id == self.id),
            // Made without a number: memory of the same context, which is therefore there, in the same life of it. The
            // object that a block was made for is compared where it is freed.
            Some(now) if now.context == Some(self.context) => {
                Ok(ContextGuard::enter(driver, self.context)?.context_id()? == self.context_id)
            }
            _ => Ok(false),
        }
    }
}
