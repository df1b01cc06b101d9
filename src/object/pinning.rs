//! Host memory that is page-locked where it is.
#![expect(unsafe_code, reason = "memory is registered with the driver")]

use std::ffi::c_void;
use std::ptr::NonNull;

use super::eviction::evictable::Use;
use super::{Outcome, SyncedMemory};
use crate::cuda;
use crate::error::Error;
use crate::memory::host::registration;
use crate::platform::sync::Ordering;

impl SyncedMemory {
    /// Page-locks the host's memory where it is, unless it is page-locked.
    ///
    /// # Safety
    /// The caller's own memory stays until the object lets it go.
    pub unsafe fn pin(&self) -> Result<(), Error> {
        self.head()?;
        let driver = cuda::driver()?;
        let mut claim = self.claim_always()?;
        self.finish(&mut claim)?;
        let now = self.now()?;
        let host = now.host.ok_or(Error::NothingToPin)?;
        let bytes = self.size.load(Ordering::Relaxed);
        if bytes > 0 && !now.word.is_pinned() {
            // SAFETY: the object's own memory is let go before it is freed; of the caller's own the caller says so.
            unsafe { registration::pin(driver, self.address(), host, bytes) }?;
        }
        self.publish(claim, now, Use::None);
        Ok(())
    }

    /// Undoes `pin`. A block that was made page-locked stays so.
    pub fn unpin(&self) -> Result<(), Error> {
        self.head()?;
        let driver = cuda::driver()?;
        let mut claim = self.claim_always()?;
        // It may be reading or writing that memory.
        self.finish(&mut claim)?;
        let now = self.now()?;
        if let Some(host) = now.host.filter(|_| !now.word.is_pinned()) {
            registration::unpin(driver, self.address(), host)?;
        }
        self.publish(claim, now, Use::None);
        Ok(())
    }

    /// Keeps the host memory page-locked until the object lets it go, if it is page-locked now; returns whether it is.
    pub(super) fn hold_pinned(&self, outcome: Outcome, host: NonNull<c_void>) -> bool {
        let (bytes, owned) = (self.size.load(Ordering::Relaxed), outcome.word.owns_host());
        outcome.word.is_pinned()
            || cuda::driver_in_use()
                .is_some_and(|driver| registration::hold(driver, self.address(), host, bytes, owned))
    }
}
