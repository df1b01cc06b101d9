#![expect(unsafe_code, reason = "memory is registered with the driver")]

use std::ffi::c_void;
use std::ptr::NonNull;

use super::{ObjectState, SyncedMemory};
use crate::cuda;
use crate::error::Error;
use crate::memory::host::registration;
use crate::platform::sync::Ordering;

impl SyncedMemory {
    /// Does nothing if the host memory is page-locked.
    ///
    /// # Safety
    /// Borrowed memory stays until the object releases it.
    pub unsafe fn pin(&self) -> Result<(), Error> {
        self.head()?;
        let driver = cuda::driver()?;
        self.unshare()?;
        let (claim, now) = self.claim_finished()?;
        let host = now.host.ok_or(Error::NothingToPin)?;
        let bytes = self.size.load(Ordering::Relaxed);
        if bytes > 0 && !now.word.is_pinned() {
            // SAFETY: an owned block is unregistered before it is freed; the caller guarantees borrowed memory.
            unsafe { registration::pin(driver, self.address(), host, bytes) }?;
        }
        self.publish(claim, now);
        Ok(())
    }

    /// A block that was allocated page-locked stays so.
    pub fn unpin(&self) -> Result<(), Error> {
        self.head()?;
        let driver = cuda::driver()?;
        // A copy in flight may use the memory.
        let (claim, now) = self.claim_finished()?;
        if let Some(host) = now.host.filter(|_| !now.word.is_pinned()) {
            registration::unpin(driver, self.address(), host)?;
        }
        self.publish(claim, now);
        Ok(())
    }

    /// Whether the host memory is page-locked; if so, keeps it that way until the object releases it.
    pub(super) fn hold_pinned(&self, state: ObjectState, host: NonNull<c_void>) -> bool {
        let (bytes, owned) = (self.size.load(Ordering::Relaxed), state.word.owns_host());
        state.word.is_pinned()
            || cuda::driver_in_use()
                .is_some_and(|driver| registration::hold(driver, self.address(), host, bytes, owned))
    }
}
