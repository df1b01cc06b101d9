//! The driver as a source of blocks, on the device or page-locked. A block goes back in its own context, from any thread. Its
//! [`Identity`] distinguishes a block that is gone (a reset of its device ended it, or other code freed it) from a new one at its
//! address.
#![expect(unsafe_code, reason = "the driver's functions are called")]

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::NonNull;

use cudarc::driver::sys::CU_MEMHOSTALLOC_PORTABLE;
use syncedmem_core::head::Side;

use crate::cuda::capture::RelaxedCapture;
use crate::cuda::context::{self, Context, ContextGuard};
use crate::cuda::driver::{self, Driver};
use crate::cuda::streams::StreamEvents;
use crate::cuda::{pointer, status, synchronize};
use crate::error::DriverFailure;
use crate::memory::limit;

/// Allocates in the current context.
pub fn allocate(driver: &Driver, side: Side, bytes: usize) -> Result<NonNull<c_void>, DriverFailure> {
    let mut address = std::ptr::null_mut();
    match side {
        Side::Device => {
            let mut number = 0;
            // SAFETY: `number` is writable.
            unsafe { driver.mem_alloc(&mut number, bytes) }?;
            // The host never dereferences it.
            address = std::ptr::without_provenance_mut(number as usize);
        }
        // PORTABLE: page-locked for every context. Not write-combined, because the host reads that slowly.
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
        // SAFETY: the caller of `free` guarantees a device block that nothing uses.
        Side::Device => unsafe { driver.mem_free(driver::address(address.as_ptr())) },
        // SAFETY: the caller of `free` guarantees a page-locked block that nothing uses.
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

    /// Whether [`Self::is_there`] can decide.
    pub fn is_certain(&self) -> bool {
        self.buffer_id != 0 || self.context_id != 0
    }

    /// `None`: the allocation is in another context, or the id is unknown.
    pub fn context_id_in(&self, context: Context) -> Option<u64> {
        (self.context == context && self.context_id != 0).then_some(self.context_id)
    }

    /// Whether the allocation at `address` is still this one; `true` if unknown. Call it before you use its context or events: a driver
    /// follows stale handles, but looks pointers up.
    pub fn is_there(&self, driver: &Driver, address: u64) -> Result<bool, DriverFailure> {
        if !self.is_certain() {
            return Ok(true);
        }
        match pointer::buffer(driver, address)? {
            Some(now) if self.buffer_id != 0 => Ok(now.id == self.buffer_id),
            // The driver gives no buffer ids. The memory belongs to the context, so the context exists. `blocks::free` compares the owner, too.
            Some(now) if now.context == Some(self.context) => {
                Ok(ContextGuard::enter(driver, self.context)?.context_id()? == self.context_id)
            }
            _ => Ok(false),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Allocation {
    pub side: Side,
    pub context: Context,
    pub device: c_int,
    /// Size in bytes: up to an eighth more than the object requested.
    pub room: usize,
    /// Whether the legacy default stream may still write the block: fills and copies from pageable memory outlast their calls
    /// (CUDA Driver API, "API synchronization behavior").
    pub pending_on_legacy: bool,
    pub identity: Identity,
    /// Events that must complete before the block is reused.
    pub behind: StreamEvents,
}

impl Allocation {
    /// Makes the block's context current. `None`: the block is gone. If the context is current already, one query is enough: its id shows
    /// that no reset has ended the context and its blocks.
    pub fn enter<'d>(
        &self,
        driver: &'d Driver,
        address: NonNull<c_void>,
    ) -> Result<Option<ContextGuard<'d>>, DriverFailure> {
        let now = context::current(driver)?;
        let is_here = now.is_some_and(|now| now.id != 0 && self.identity.context_id_in(now.context) == Some(now.id));
        if !is_here && !self.is_alive(driver, address)? {
            return Ok(None);
        }
        ContextGuard::enter_from(driver, now, self.context).map(Some)
    }

    /// See [`Identity::is_there`].
    pub fn is_alive(&self, driver: &Driver, address: NonNull<c_void>) -> Result<bool, DriverFailure> {
        self.identity.is_there(driver, driver::address(address.as_ptr()))
    }

    /// Frees the block after the work of the declared streams, unless a reset has ended it.
    ///
    /// # Safety
    /// The block at `address` is this one. No thread refers to it any more, and no copy in flight uses it.
    pub unsafe fn give_back(&mut self, driver: &Driver, address: NonNull<c_void>) -> Result<(), DriverFailure> {
        // SAFETY: the caller of `give_back` guarantees that nothing uses the block.
        match unsafe { self.try_to_give_back(driver, address) } {
            Err(failure) if !status::is_context_gone(failure.status) => return Err(failure),
            _ => self.withdraw(),
        }
        Ok(())
    }

    /// # Safety
    /// The contract of [`Self::give_back`].
    unsafe fn try_to_give_back(&mut self, driver: &Driver, address: NonNull<c_void>) -> Result<(), DriverFailure> {
        if !self.is_alive(driver, address)? {
            return Ok(());
        }
        let _guard = ContextGuard::enter(driver, self.context)?;
        if self.pending_on_legacy {
            synchronize::legacy_stream(driver)?;
        }
        self.behind.wait(driver)?;
        let _relaxed = RelaxedCapture::begin(driver);
        // SAFETY: the caller of `give_back` guarantees that nothing uses the block; `is_alive` has found it.
        unsafe { free(driver, self.side, address) }
    }

    /// Uncounts a page-locked block that was freed.
    pub fn withdraw(&self) {
        if self.side == Side::Host {
            limit::withdraw_pinned(self.room);
        }
    }
}
