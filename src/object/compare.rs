//! Comparison of an object's host contents with those at the last copy or fill. The checksum lies in the object's entry.
#![expect(unsafe_code, reason = "the host's memory is read")]

use std::ffi::c_void;
use std::ptr::NonNull;

use syncedmem_trace::event::What;
use syncedmem_trace::head::Side;

use super::{Claim, SyncedMemory};
use crate::observe::checksums::{Checksum, KeptChecksum, are_compared};
use crate::observe::recorder;

impl SyncedMemory {
    /// The host block was filled with zeros.
    #[inline]
    pub(super) fn note_zeros(&self, claim: &Claim<'_>, host: NonNull<c_void>) {
        if are_compared() {
            let checksum = Checksum::of_zeros(host, self.subject().bytes).kept();
            claim.with(|entry| entry.checksum = checksum);
        }
    }

    /// The two sides no longer hold the same data.
    #[inline]
    pub(super) fn forget_checksum(&self, claim: &Claim<'_>) {
        if are_compared() {
            claim.with(|entry| entry.checksum = None);
        }
    }

    /// Tells `tell` what has changed on `side`, before a copy from the host or after one to it.
    ///
    /// # Safety
    /// `host` is readable for the object's size, and no other thread writes it during the call. The copy demands the same.
    pub(super) unsafe fn compare(&self, claim: &Claim<'_>, side: Side, host: NonNull<c_void>, tell: impl FnOnce(What)) {
        let before = claim.with(|entry| entry.checksum.take());
        // SAFETY: the caller guarantees it.
        let now = unsafe { Checksum::of(host, self.subject().bytes) };
        if let Some(what) = before.and_then(|before| now.compared(side, &before)) {
            tell(what);
        }
        let kept = now.kept();
        claim.with(|entry| entry.checksum = kept);
    }

    /// Records at the object's end whether its zeros were overwritten.
    ///
    /// # Safety
    /// As for `compare`, if the library filled this block.
    pub(super) unsafe fn compare_at_end(&self, filled: Option<KeptChecksum>, host: NonNull<c_void>) {
        if let Some(before) = filled.filter(|before| are_compared() && before.is_of_zeros(host)) {
            // SAFETY: the caller guarantees it.
            let now = unsafe { Checksum::of(host, self.subject().bytes) };
            if let Some(what) = now.compared(Side::Host, &before) {
                recorder::record(self.subject(), || what);
            }
        }
    }
}
