//! Existing host memory, page-locked by the driver.
#![expect(unsafe_code, reason = "the driver's functions are called")]

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::NonNull;

use cudarc::driver::sys::CU_MEMHOSTREGISTER_PORTABLE;

use super::source::Identity;
use crate::cuda::capture::RelaxedCapture;
use crate::cuda::context::{Context, ContextGuard};
use crate::cuda::driver::{self, Driver};
use crate::cuda::{attributes, pointer, status, synchronize};
use crate::error::DriverFailure;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registration {
    address: usize,
    context: Context,
    device: c_int,
    identity: Identity,
}

/// Registers a range for every context. `None`: other code has page-locked it.
///
/// # Safety
/// The range stays memory of this process until the registration ends.
pub unsafe fn register(
    driver: &Driver,
    guard: &ContextGuard<'_>,
    address: NonNull<c_void>,
    bytes: usize,
) -> Result<Option<Registration>, DriverFailure> {
    let device = guard.device()?;
    if let Some(failure) = attributes::refusal(driver, device) {
        return Err(failure);
    }
    let _relaxed = RelaxedCapture::begin(driver);
    // SAFETY: the caller guarantees it.
    match unsafe { driver.host_register(address.as_ptr(), bytes, CU_MEMHOSTREGISTER_PORTABLE as c_uint) } {
        Ok(()) => {
            let identity = Identity::of(driver, guard, driver::address(address.as_ptr()));
            let address = address.as_ptr().expose_provenance();
            Ok(Some(Registration { address, context: guard.context, device, identity }))
        }
        // The driver refuses copies of memory of which only a part is registered.
        Err(failure) if failure.status == status::ALREADY_REGISTERED && is_known(driver, address, bytes) => Ok(None),
        Err(failure) => Err(failure),
    }
}

fn is_known(driver: &Driver, address: NonNull<c_void>, bytes: usize) -> bool {
    let start = address.as_ptr().addr();
    let Some(end) = start.checked_add(bytes) else { return false };
    let range = pointer::range(driver, start as u64).ok().flatten();
    range.is_some_and(|(from, size)| from.checked_add(size).is_some_and(|to| from <= start as u64 && end as u64 <= to))
}

impl Registration {
    pub fn device(&self) -> c_int {
        self.device
    }

    /// A reset of the device ends a registration.
    pub fn is_there(&self, driver: &Driver) -> Result<bool, DriverFailure> {
        self.identity.is_there(driver, self.address as u64)
    }

    /// After an error the registration may still exist.
    pub fn end(&self, driver: &Driver) -> Result<(), DriverFailure> {
        self.end_after(driver, |waited| waited)
    }

    /// As [`Self::end`], also if the wait for the context fails: the owner is about to free the memory.
    pub fn end_at_once(&self, driver: &Driver) -> Result<(), DriverFailure> {
        self.end_after(driver, |_| Ok(()))
    }

    fn end_after(
        &self,
        driver: &Driver,
        check: impl FnOnce(Result<(), DriverFailure>) -> Result<(), DriverFailure>,
    ) -> Result<(), DriverFailure> {
        let end = || {
            if !self.is_there(driver)? {
                return Ok(());
            }
            let _guard = ContextGuard::enter(driver, self.context)?;
            // Copies may be in flight, and no documentation says that the driver waits for them.
            check(synchronize::context_if_allowed(driver))?;
            let _relaxed = RelaxedCapture::begin(driver);
            // SAFETY: the registration exists, and is the library's; the driver refuses others.
            unsafe { driver.host_unregister(std::ptr::with_exposed_provenance_mut(self.address)) }
        };
        let is_gone = |status| status == status::NOT_REGISTERED || status::is_context_gone(status);
        end().or_else(|failure: DriverFailure| if is_gone(failure.status) { Ok(()) } else { Err(failure) })
    }
}
