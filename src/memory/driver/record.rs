//! A driver's block is given back in its own context, from any thread. The [`Identity`] distinguishes a block that is
//! gone (by a reset of its device, or freed by other code) from a new one at its address.
#![expect(unsafe_code, reason = "the driver's functions are called")]

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use syncedmem_trace::head::Side;

use super::source::{self, Identity};
use crate::cuda::capture::RelaxedCapture;
use crate::cuda::context::{self, Context, ContextGuard};
use crate::cuda::driver::{self, Driver};
use crate::cuda::{status, synchronize};
use crate::error::DriverFailure;
use crate::memory::cache::budget;

#[derive(Clone, Copy, Debug)]
pub struct Record {
    pub side: Side,
    pub context: Context,
    pub device: c_int,
    /// Up to an eighth more than the object requested.
    pub bytes: usize,
    /// The object's address.
    pub holder: usize,
    /// Whether the legacy default stream may still write the block: fills and copies from pageable memory outlast their calls
    /// (CUDA Driver API, "API synchronization behavior").
    pub pending_on_legacy: bool,
    pub identity: Identity,
}

impl Record {
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
}

/// Frees a block, unless a reset has ended it.
///
/// # Safety
/// No thread refers to the block any more, and no copy in flight uses it.
pub unsafe fn give_back(driver: &Driver, address: NonNull<c_void>, record: &Record) -> Result<(), DriverFailure> {
    // SAFETY: the caller guarantees it.
    match unsafe { try_to_give_back(driver, address, record) } {
        Err(failure) if !status::is_context_gone(failure.status) => return Err(failure),
        _ => withdraw(record.side, record.bytes),
    }
    Ok(())
}

/// # Safety
/// As for [`give_back`].
unsafe fn try_to_give_back(driver: &Driver, address: NonNull<c_void>, record: &Record) -> Result<(), DriverFailure> {
    if !record.is_alive(driver, address)? {
        return Ok(());
    }
    let _guard = ContextGuard::enter(driver, record.context)?;
    if record.pending_on_legacy {
        synchronize::legacy_stream(driver)?;
    }
    let _relaxed = RelaxedCapture::begin(driver);
    // SAFETY: the caller guarantees it, and the block still is the recorded one.
    unsafe { source::free(driver, record.side, address) }
}

/// Undoes the admission of a block that is not page-locked any more.
pub fn withdraw(side: Side, bytes: usize) {
    if side == Side::Host {
        budget::withdraw_pinned(bytes);
    }
}
