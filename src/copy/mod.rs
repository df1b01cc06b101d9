//! Copies between the sides.
//!
//! Copies are ordered as `cudaMemcpy` on the legacy default stream.
#![expect(unsafe_code, reason = "the driver's functions are called")]

mod numa;
mod staged;
pub mod staging_buffers;
pub mod transfer;
pub mod workers;

use std::ffi::c_void;
use std::ptr::NonNull;

use crate::cuda::context::{self, Within};
use crate::cuda::driver::{self, Driver};
use crate::error::{DriverFailure, Error};
use crate::memory::device;
use crate::memory::driver::blocks;
use crate::observe::event::Path;
use crate::platform::text::{Text, to_stderr};
use crate::state::flags;
use crate::state::head::Side;
use staged::Staged;

/// Copies `bytes`, which are not 0, between the host and the device block at `device`.
///
/// # Safety
/// Both addresses are good for that many bytes.
pub unsafe fn copy(driver: &Driver, ends: Ends, bytes: usize) -> Result<Path, Error> {
    let (within, record) = device::enter(driver, ends.device, ends.owner)?;
    let unsettled = record.is_some_and(|record| record.unsettled);
    // SAFETY: the caller guarantees it.
    let staged = unsafe { staged::copy(driver, &within, ends, bytes) }?;
    if staged == Staged::No {
        let (to, from) = ends.addresses();
        // SAFETY: the caller guarantees it.
        unsafe { driver.copy(to, from, bytes) }?;
    }
    // Any other copy is done when it returns, and came after what the stream had.
    let goes_on = ends.to == Side::Device && !ends.pinned && staged == Staged::No;
    if unsettled != goes_on {
        blocks::note_unsettled(ends.device, goes_on);
    }
    let path = if staged == Staged::Done { Path::Staged } else { ends.path(driver) };
    if ends.to == Side::Device && within.before.is_some_and(|before| before != within.context) {
        // What cannot be found out is not counted.
        let _ = note_mismatch(driver, within);
    }
    Ok(path)
}

/// The two ends of a copy.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// The device's address.
    pub device: NonNull<c_void>,
    /// The host's address.
    pub host: NonNull<c_void>,
    /// The side that is written.
    pub to: Side,
    /// Address of the object, if it owns the device block.
    pub owner: Option<usize>,
    /// Whether the host's memory is known to be page-locked.
    pub pinned: bool,
}

impl Ends {
    /// The path of a copy that the driver makes. While nothing is observed the driver is not asked whether the caller has
    /// page-locked the memory.
    fn path(self, driver: &Driver) -> Path {
        let is_pinned = self.pinned || (flags::on() && !staged::is_pageable(driver, self));
        if is_pinned { Path::Pinned } else { Path::Pageable }
    }

    /// Destination and source.
    fn addresses(self) -> (u64, u64) {
        let (device, host) = (driver::address(self.device.as_ptr()), driver::address(self.host.as_ptr()));
        match self.to {
            Side::Device => (device, host),
            Side::Host => (host, device),
        }
    }
}

/// Leaves the context of a block that was copied to, and counts a mismatch if the thread's own context is of another device. The
/// first mismatch is reported on standard error. The thread's context is not entered: another thread may have destroyed it.
///
/// Compat: that is no error. The original returns the pointer, and unified addressing makes it valid.
#[cold]
fn note_mismatch(driver: &Driver, within: Within<'_>) -> Result<(), DriverFailure> {
    let holder = within.device()?;
    drop(within);
    let current = context::current_device(driver)?;
    if current != holder && context::note_mismatch() {
        let said = Text::<300>::of(format_args!(
            "libsyncedmem: data on device {holder} was asked for while device {current} was current; such cases are \
             counted from now on, and SYNCEDMEM_CHECK_DEVICE=1 makes them errors\n"
        ));
        to_stderr(said.as_bytes());
    }
    Ok(())
}
