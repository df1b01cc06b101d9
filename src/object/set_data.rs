//! Blocks exchanged for the caller's own, and given back.
#![expect(unsafe_code, reason = "blocks are freed")]

use std::ffi::c_void;
use std::ptr::NonNull;

use super::dlpack::Lent;
use super::dlpack::exchange;
use super::eviction::evictable::Use;
use super::{Claim, EXPORTS, Outcome, Owned, SyncedMemory};
use crate::cuda;
use crate::error::Error;
use crate::memory::host;
use crate::observe::event::What;
use crate::observe::{checksums, recorder};
use crate::platform::sync::Ordering;
use crate::state::head::{Head, Side};
use crate::state::word::Word;

impl SyncedMemory {
    /// Borrows the caller's memory as the host side, which is then the newest. An owned block is freed at once.
    ///
    /// # Safety
    /// `data` stays readable and writable for `size()` bytes for as long as the object refers to it, and
    /// pointers to a host block that the object owned are not used any more.
    pub unsafe fn set_cpu_data(&self, data: *mut c_void) -> Result<(), Error> {
        // SAFETY: the caller guarantees it.
        unsafe { self.borrow(data, Side::Host, None) }
    }

    /// Borrows the caller's device memory as the device side, which is then the newest. An owned block is freed at
    /// once.
    ///
    /// # Safety
    /// `data` stays good for `size()` bytes for as long as the object refers to it, and pointers to a device block
    /// that the object owned are not used any more.
    pub unsafe fn set_gpu_data(&self, data: *mut c_void) -> Result<(), Error> {
        // SAFETY: the caller guarantees it.
        unsafe { self.borrow(data, Side::Device, None) }
    }

    /// Both of them; the memory may be that of a tensor that is `lent`, for which there is room in the registry.
    ///
    /// # Safety
    /// As for `set_cpu_data` and `set_gpu_data`.
    pub(super) unsafe fn borrow(&self, data: *mut c_void, side: Side, lent: Option<Lent>) -> Result<(), Error> {
        self.head()?;
        let data = NonNull::new(data).ok_or(Error::NullData { side })?;
        if side == Side::Device {
            cuda::driver()?;
        }
        EXPORTS.refuse(self.address(), Some(side))?;
        let mut claim = self.claim_always()?;
        self.finish(&mut claim)?;
        let now = self.now()?;
        // The other side's flags of an untouched object are not to be trusted.
        let next = now.with_head(Head::only_at(side)).borrowing(data, side);
        recorder::record(self.subject(), || What::Lent { side });
        checksums::forget(self.address());
        // SAFETY: the caller guarantees it.
        unsafe { self.replace(claim, now, next, side, lent) };
        Ok(())
    }

    /// Gives back one side's block while the other side holds the newest data.
    ///
    /// # Safety
    /// Pointers to that side's block are not used any more.
    pub unsafe fn release(&self, side: Side) -> Result<(), Error> {
        self.head()?;
        EXPORTS.refuse(self.address(), Some(side))?;
        let mut claim = self.claim_always()?;
        let head = self.now()?.head();
        let refusal = Error::NotRedundant { side, head };
        // A pull in flight makes the other side current, or so it seems.
        if claim.in_flight.is_none() {
            head.on_release(side).ok_or(refusal)?;
        }
        if side == Side::Device {
            cuda::driver()?;
        }
        self.finish(&mut claim)?;
        let now = self.now()?;
        let next = now.with_head(now.head().on_release(side).ok_or(refusal)?).without(side);
        recorder::record(self.subject(), || What::Released { side });
        // SAFETY: the caller guarantees it.
        unsafe { self.replace(claim, now, next, side, None) };
        Ok(())
    }

    /// Publishes `next`, which no longer refers to `side`'s block, and gives that back. What was lent to it is ended last: a
    /// deleter may do anything, even end the object.
    ///
    /// # Safety
    /// Nobody refers to that block any more, and nothing is in flight.
    unsafe fn replace(&self, claim: Claim<'_>, now: Outcome, next: Outcome, side: Side, lent: Option<Lent>) {
        let owned = self.owned(now.word);
        let old = match side {
            // What is lent anew stays registered.
            Side::Host => {
                Owned { device: None, borrowed: owned.borrowed.filter(|&(at, _)| next.host != Some(at)), ..owned }
            }
            Side::Device => Owned { host: None, borrowed: None, ..owned },
        };
        self.publish(claim, next, Use::None);
        // SAFETY: the object no longer refers to it, nor does the caller.
        unsafe { old.free() };
        exchange::end_lent(EXPORTS.exchange(self.address(), side, lent));
    }

    /// Compat: yjxiong's `Resize`. To grow discards both sides; to shrink, or to stay, does nothing.
    ///
    /// # Safety
    /// Pointers to the object's blocks are not used any more if it grows.
    pub unsafe fn resize(&self, bytes: usize) -> Result<(), Error> {
        host::check_size(bytes, Side::Host)?;
        let mut claim = self.claim_always()?;
        let now = self.now()?;
        if bytes <= self.size.load(Ordering::Relaxed) {
            return Ok(());
        }
        EXPORTS.refuse(self.address(), None)?;
        self.finish(&mut claim)?;
        let old = self.owned(now.word);
        let larger = || {
            let word = Word::NEW;
            self.mark_follows_to(Outcome { host: None, device: None, word }, bytes, Use::Renews);
            self.cpu_ptr.store(std::ptr::null_mut(), Ordering::Relaxed);
            self.gpu_ptr.store(std::ptr::null_mut(), Ordering::Relaxed);
            self.size.store(bytes, Ordering::Relaxed);
            // Relaxed: an untouched object leads nobody to a pointer; whoever touches it takes the lock.
            self.word.store(word.0, Ordering::Relaxed);
        };
        claim.publish(larger, || self.identity());
        recorder::record(self.subject(), || What::Resized { bytes: bytes as u64 });
        checksums::forget(self.address());
        // SAFETY: the object no longer refers to them, nor does the caller.
        unsafe { old.free() };
        let lent = [Side::Host, Side::Device].map(|side| EXPORTS.exchange(self.address(), side, None));
        exchange::end_lent(lent.into_iter().flatten());
        Ok(())
    }
}
