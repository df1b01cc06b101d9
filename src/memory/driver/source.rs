#![expect(unsafe_code, reason = "the driver's functions are called")]

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::NonNull;

use cudarc::driver::sys::{CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTREGISTER_PORTABLE};
use syncedmem_trace::head::Side;

use crate::cuda::context::{Context, ContextGuard};
use crate::cuda::driver::{self, Driver};
use crate::cuda::{attributes, pointer, status};
use crate::error::DriverFailure;
use crate::memory::mapping::{HUGE_PAGE, Mapping};
use crate::platform::limits;
use crate::settings;

#[derive(Clone, Copy, Debug)]
pub enum Source {
    Allocated,
    Registered(Mapping),
}

// SAFETY: a mapping belongs to the process, not to a thread.
unsafe impl Send for Source {}

#[derive(Clone, Copy, Debug)]
pub struct Allocation {
    pub address: NonNull<c_void>,
    /// As requested, or whole pages.
    pub bytes: usize,
    pub source: Source,
}

/// Uses the current context, which is of `device`.
pub fn allocate(driver: &Driver, device: c_int, side: Side, bytes: usize) -> Result<Allocation, DriverFailure> {
    let registers = side == Side::Host && bytes >= HUGE_PAGE && registers();
    let registers = registers && attributes::why_not_registered(driver, device).is_none();
    if let Some(registered) = registers.then(|| register(driver, device, bytes)).flatten() {
        return Ok(registered);
    }
    Ok(Allocation { address: allocate_plain(driver, side, bytes)?, bytes, source: Source::Allocated })
}

pub fn allocate_plain(driver: &Driver, side: Side, bytes: usize) -> Result<NonNull<c_void>, DriverFailure> {
    let mut address = std::ptr::null_mut();
    match side {
        Side::Device => {
            let mut number = 0;
            // SAFETY: `number` is writable.
            unsafe { driver.mem_alloc(&mut number, bytes) }?;
            // Never dereferenced on the host.
            address = std::ptr::without_provenance_mut(number as usize);
        }
        // For every context. Not write-combined, which the host reads slowly.
        // SAFETY: `address` is writable.
        Side::Host => unsafe { driver.host_alloc(&mut address, bytes, CU_MEMHOSTALLOC_PORTABLE as c_uint) }?,
    }
    // `bytes` is not 0, so a success has an address.
    NonNull::new(address).ok_or(DriverFailure { call: "an allocation without an address", status: status::SUCCESS })
}

/// Registers populated huge pages, because the driver locks page by page. `None`: the driver allocates the block.
fn register(driver: &Driver, device: c_int, bytes: usize) -> Option<Allocation> {
    let mapping = Mapping::on_huge_pages(bytes)?;
    // SAFETY: unmapped on a failure, else after the block was unregistered.
    if !mapping.populate() || unsafe { page_lock(driver, device, &mapping) }.is_err() {
        mapping.unmap();
        return None;
    }
    Some(Allocation { address: mapping.block(), bytes: mapping.room(), source: Source::Registered(mapping) })
}

/// Registers a block for every context, unless the driver is known to refuse that for `device`.
///
/// # Safety
/// The mapping stays until it is unregistered.
pub unsafe fn page_lock(driver: &Driver, device: c_int, mapping: &Mapping) -> Result<(), DriverFailure> {
    if let Some(failure) = attributes::refusal(driver, device) {
        return Err(failure);
    }
    let (address, room) = (mapping.block().as_ptr(), mapping.room());
    // SAFETY: the mapping's range; the caller guarantees that it stays.
    unsafe { driver.host_register(address, room, CU_MEMHOSTREGISTER_PORTABLE as c_uint) }
        .inspect_err(|&failure| attributes::note_refusal(device, failure))
}

/// Whether large blocks are registered mappings (opt-in). Under `malloc_only` an inlined original may free them by
/// `cudaFreeHost`. Before Linux 5.12 the parent's first write after a fork moved a page-locked page, and the device used the
/// old one; the driver's own memory was not affected.
fn registers() -> bool {
    let forks_copy_locked_pages = || limits::kernel().is_some_and(|version| version >= (5, 12));
    settings::registers_pinned_blocks() && !settings::malloc_only() && forks_copy_locked_pages()
}

/// Frees a block in its context, which is current; the caller unmaps a mapping.
///
/// # Safety
/// `source` made it for `side`. No thread refers to it any more, and no work on the device uses it.
pub unsafe fn free(driver: &Driver, side: Side, address: NonNull<c_void>, source: Source) -> Result<(), DriverFailure> {
    match (side, source) {
        // SAFETY: the caller guarantees it.
        (Side::Device, _) => unsafe { driver.mem_free(driver::address(address.as_ptr())) },
        // SAFETY: the caller guarantees it.
        (Side::Host, Source::Allocated) => unsafe { driver.host_free(address.as_ptr()) },
        // SAFETY: the caller guarantees it.
        (Side::Host, Source::Registered(_)) => unsafe { driver.host_unregister(address.as_ptr()) },
    }
}

/// Distinguishes an allocation from a later one at its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    context: Context,
    /// 0 if the driver has none.
    buffer_id: u64,
    /// Changes with a reset of the device; 0 if the driver has none.
    context_id: u64,
}

impl Identity {
    /// The allocation is in the context of `guard`.
    pub fn of(driver: &Driver, guard: &ContextGuard<'_>, address: u64) -> Identity {
        let known = pointer::buffer(driver, address).ok().flatten();
        let is_of_context = known.is_some_and(|known| known.context == Some(guard.context));
        let context_id = if is_of_context { guard.context_id().unwrap_or(0) } else { 0 };
        Identity { context: guard.context, buffer_id: known.map_or(0, |known| known.id), context_id }
    }

    /// Whether [`Self::is_there`] can find out.
    pub fn is_certain(&self) -> bool {
        self.buffer_id != 0 || self.context_id != 0
    }

    /// `None` for another context, or if unknown.
    pub fn context_id_in(&self, context: Context) -> Option<u64> {
        (self.context == context && self.context_id != 0).then_some(self.context_id)
    }

    /// Whether the allocation at `address` is still this one; `true` if unknown. Asked before its context or events are used:
    /// a driver follows stale handles, but looks pointers up.
    pub fn is_there(&self, driver: &Driver, address: u64) -> Result<bool, DriverFailure> {
        if !self.is_certain() {
            return Ok(true);
        }
        match pointer::buffer(driver, address)? {
            Some(now) if self.buffer_id != 0 => Ok(now.id == self.buffer_id),
            // Without a buffer id: memory of the context, which therefore exists. `free` compares the holder, too.
            Some(now) if now.context == Some(self.context) => {
                Ok(ContextGuard::enter(driver, self.context)?.context_id()? == self.context_id)
            }
            _ => Ok(false),
        }
    }
}
