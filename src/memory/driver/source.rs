#![expect(unsafe_code, reason = "the driver's functions are called")]

use std::ffi::{c_uint, c_void};
use std::ptr::NonNull;

use cudarc::driver::sys::CU_MEMHOSTALLOC_PORTABLE;
use syncedmem_core::head::Side;

use crate::cuda::context::{Context, ContextGuard};
use crate::cuda::driver::{self, Driver};
use crate::cuda::{pointer, status};
use crate::error::DriverFailure;

/// Uses the current context.
pub fn allocate(driver: &Driver, side: Side, bytes: usize) -> Result<NonNull<c_void>, DriverFailure> {
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

/// Frees a block in its context, which is current.
///
/// # Safety
/// [`allocate`] made it for `side`. No thread refers to it any more, and no work on the device uses it.
pub unsafe fn free(driver: &Driver, side: Side, address: NonNull<c_void>) -> Result<(), DriverFailure> {
    match side {
        // SAFETY: the caller guarantees that the block is a device block that nothing uses.
        Side::Device => unsafe { driver.mem_free(driver::address(address.as_ptr())) },
        // SAFETY: the caller guarantees that the block is a page-locked block that nothing uses.
        Side::Host => unsafe { driver.host_free(address.as_ptr()) },
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
