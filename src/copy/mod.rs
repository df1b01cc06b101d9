//! Copies between the sides, ordered as `cudaMemcpy` on the legacy default stream, or on a caller's ([`transfer`]).
#![expect(unsafe_code, reason = "the driver's functions are called")]

pub mod transfer;

use std::ffi::c_void;
use std::ptr::NonNull;

use syncedmem_core::head::Side;
use syncedmem_trace::event::Path;

use crate::cuda::context::{self, ContextGuard};
use crate::cuda::driver::{self, Driver};
use crate::cuda::pointer;
use crate::error::{DriverFailure, Error};
use crate::memory::blocks;
use crate::memory::device;
use crate::platform::text::warn;
use crate::state::flags;

/// `bytes` is not 0.
///
/// # Safety
/// Both blocks have `bytes` bytes.
pub unsafe fn copy(driver: &Driver, endpoints: Endpoints, bytes: usize) -> Result<Path, Error> {
    let (guard, record) = device::enter(driver, endpoints.device, endpoints.owner)?;
    let pending_on_legacy = record.is_some_and(|record| record.pending_on_legacy);
    let (to, from) = endpoints.addresses();
    let bytes = if cfg!(syncedmem_fault = "half of the bytes are copied") { bytes.div_ceil(2) } else { bytes };
    // SAFETY: the caller of `copy` guarantees that both blocks have `bytes` bytes.
    unsafe { driver.copy(to, from, bytes) }?;
    // A copy from pageable memory to the device continues after the call; any other is complete, with the stream's earlier work.
    let goes_on = endpoints.to == Side::Device && !endpoints.pinned;
    if pending_on_legacy != goes_on {
        blocks::set_pending_on_legacy(endpoints.device, goes_on);
    }
    let path = endpoints.path(driver);
    if endpoints.to == Side::Device && guard.before.is_some_and(|before| before != guard.context) {
        // A failure is not counted as a mismatch.
        let _ = note_mismatch(driver, guard);
    }
    Ok(path)
}

/// `bytes` is not 0. The copy runs in the context of `to`, which the object at `owner` owns.
///
/// # Safety
/// Both blocks have `bytes` bytes.
#[cfg(any(feature = "blob", feature = "caffe2"))]
pub unsafe fn between_devices(
    driver: &Driver,
    (to, owner): (NonNull<c_void>, Option<usize>),
    from: NonNull<c_void>,
    bytes: usize,
) -> Result<(), Error> {
    // `enter` refuses memory that is gone.
    drop(device::enter(driver, from, None)?);
    let _entered = device::enter(driver, to, owner)?;
    // SAFETY: the caller of `between_devices` guarantees that both blocks have `bytes` bytes.
    unsafe { driver.copy(driver::address(to.as_ptr()), driver::address(from.as_ptr()), bytes) }?;
    // A copy on the device continues after the call.
    blocks::set_pending_on_legacy(to, true);
    blocks::set_pending_on_legacy(from, true);
    Ok(())
}

#[derive(Clone, Copy, Debug)]
pub struct Endpoints {
    pub device: NonNull<c_void>,
    pub host: NonNull<c_void>,
    /// The side that is written.
    pub to: Side,
    /// Address of the object, if it owns the device block.
    pub owner: Option<usize>,
    /// Whether the host memory is known to be page-locked.
    pub pinned: bool,
}

impl Endpoints {
    /// The path of the driver's own copy. Asks the driver about the caller's memory only if a recorder reads events.
    fn path(self, driver: &Driver) -> Path {
        let is_known = || pointer::is_known(driver, driver::address(self.host.as_ptr())) != Ok(false);
        let is_pinned = self.pinned || (flags::are_events_read() && is_known());
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

/// Leaves the block's context, and counts a mismatch; warns of the first. Does not enter the thread's context, which
/// another thread may have destroyed.
///
/// Compat: a mismatch is no error. The original returns the pointer, and unified addressing makes it valid.
#[cold]
fn note_mismatch(driver: &Driver, guard: ContextGuard<'_>) -> Result<(), DriverFailure> {
    let owner = guard.device()?;
    drop(guard);
    let current = context::current_device(driver)?;
    if current != owner && context::note_mismatch() {
        warn(format_args!(
            "data on device {owner} was asked for while device {current} was current; such cases are \
             counted from now on, and SYNCEDMEM_CHECK_DEVICE=1 makes them errors"
        ));
    }
    Ok(())
}
