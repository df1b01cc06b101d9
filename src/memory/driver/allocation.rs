//! A block that the driver allocated. It is given back in its own context, from any thread. The [`Identity`] distinguishes
//! a block that is gone (by a reset of its device, or freed by other code) from a new one at its address.
#![expect(unsafe_code, reason = "the driver's functions are called")]

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use syncedmem_core::head::Side;

use super::source::{self, Identity};
use crate::cuda::capture::RelaxedCapture;
use crate::cuda::context::{self, Context, ContextGuard};
use crate::cuda::driver::{self, Driver};
use crate::cuda::streams::StreamEvents;
use crate::cuda::{status, synchronize};
use crate::error::DriverFailure;
use crate::memory::cache::budget;

#[derive(Clone, Copy, Debug)]
pub struct Allocation {
    pub side: Side,
    pub context: Context,
    pub device: c_int,
    /// Its bytes: up to an eighth more than the object asked for.
    pub room: usize,
    /// Whether the legacy default stream may still write the block: fills and copies from pageable memory outlast their calls
    /// (CUDA Driver API, "API synchronization behavior").
    pub pending_on_legacy: bool,
    pub identity: Identity,
    /// They complete before the block is used again.
    pub behind: StreamEvents,
}

impl Allocation {
    /// The block's context, now current; `None`: the block is gone. One query where that context is current: its id says that no reset has
    /// ended it, and its blocks with it.
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

    /// Frees a block behind the streams that were declared, unless a reset has ended it.
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
    /// As for [`Self::give_back`].
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
        // SAFETY: the caller of `give_back` guarantees that nothing uses the block, which is alive.
        unsafe { source::free(driver, self.side, address) }
    }

    /// Undoes the admission of a block that is not page-locked any more.
    pub fn withdraw(&self) {
        if self.side == Side::Host {
            budget::withdraw_pinned(self.room);
        }
    }
}
