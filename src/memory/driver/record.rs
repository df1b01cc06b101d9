//! The record of a block that came from the driver, and how the block is given back: in its own context, from any thread,
//! whichever context is current there.
//!
//! A record is the authority on where a block came from. Its [`Identity`] distinguishes a block that is gone (its device was
//! reset, or other code freed it) from a new one at the same address.
#![expect(unsafe_code, reason = "the driver's functions are called")]

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use super::source::{self, Identity, Source};
use crate::cuda::capture::RelaxedCapture;
use crate::cuda::context::{Context, ContextGuard};
use crate::cuda::driver::{self, Driver};
use crate::cuda::{status, synchronize};
use crate::error::DriverFailure;
use crate::memory::cache::budget;
use crate::state::head::Side;

/// What is known about a block.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// The side that it is memory of.
    pub side: Side,
    /// Its context.
    pub context: Context,
    /// The ordinal of its context's device.
    pub device: c_int,
    /// Its size: what its object asked for, and up to an eighth more.
    pub bytes: usize,
    /// Address of the object that it was made for.
    pub holder: usize,
    /// Whether the legacy default stream may still be writing it: fills, and copies from pageable memory, go on after
    /// the call that asked for them (CUDA Driver API, "API synchronization behavior").
    pub pending_on_legacy: bool,
    /// How it was come by.
    pub source: Source,
    /// What the driver knows it by.
    pub identity: Identity,
}

impl Record {
    /// Whether the system allocated it, and the driver page-locked it.
    pub fn is_registered(&self) -> bool {
        matches!(self.source, Source::Registered(_))
    }

    /// Whether the block at `address` is still there: see [`Identity::is_there`].
    pub fn is_alive(&self, driver: &Driver, address: NonNull<c_void>) -> Result<bool, DriverFailure> {
        self.identity.is_there(driver, driver::address(address.as_ptr()))
    }
}

/// Gives a block back to the driver, unless it is gone.
///
/// # Safety
/// As for `free`.
pub unsafe fn give_back(driver: &Driver, address: NonNull<c_void>, record: &Record) -> Result<(), DriverFailure> {
    // SAFETY: the caller guarantees it.
    match unsafe { try_to_give_back(driver, address, record) } {
        Err(failure) if !status::is_context_gone(failure.status) => return Err(failure),
        _ => withdraw(record.side, record.bytes),
    }
    if let Source::Registered(mapping) = record.source {
        // What a reset ends is that it is page-locked; the memory is the library's in any case.
        mapping.unmap();
    }
    Ok(())
}

/// # Safety
/// As for `free`.
unsafe fn try_to_give_back(driver: &Driver, address: NonNull<c_void>, record: &Record) -> Result<(), DriverFailure> {
    if !record.is_alive(driver, address)? {
        return Ok(());
    }
    let _guard = ContextGuard::enter(driver, record.context)?;
    if record.is_registered() {
        // Nothing says that the driver waits before it unlocks the pages.
        synchronize::context_if_allowed(driver)?;
    } else if record.pending_on_legacy {
        synchronize::legacy_stream(driver)?;
    }
    let _relaxed = RelaxedCapture::begin(driver);
    // SAFETY: the caller guarantees it, and it is still the block that was recorded.
    unsafe { source::hand_back(driver, record.side, address, record.source) }
}

/// Takes back what was admitted for a block that is page-locked no more.
pub fn withdraw(side: Side, bytes: usize) {
    if side == Side::Host {
        budget::withdraw_pinned(bytes);
    }
}
