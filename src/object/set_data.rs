//! Exchanges an object's blocks for the caller's memory, for none, or for larger ones.
#![expect(unsafe_code, reason = "blocks are freed")]

use std::ffi::c_void;
use std::ptr::NonNull;

use syncedmem_core::head::Side;
use syncedmem_trace::event::What;

use super::dlpack::Imported;
use super::dlpack::exchange;
use super::{Claim, Entry, ObjectState, SyncedMemory};
use crate::cuda;
use crate::error::Error;
use crate::memory::host;
use crate::observe::recorder;
use crate::platform::sync::Ordering;
use crate::state::step::Operation;

impl SyncedMemory {
    /// Borrows the caller's memory as `side`, which then has the newest data. A block that the object owned there is freed.
    ///
    /// # Safety
    /// Borrowed: `data` stays readable and writable for `size()` bytes on that side while the object refers to it. Pointers to a
    /// block that the object owned there are not used any more.
    pub unsafe fn set_data(&self, side: Side, data: *mut c_void) -> Result<(), Error> {
        // SAFETY: the caller of this function guarantees Borrowed.
        unsafe { self.borrow(data, side, None) }
    }

    /// [`Self::set_data`] with memory that may be an imported tensor's.
    ///
    /// # Safety
    /// Borrowed, as in `set_data`.
    pub(super) unsafe fn borrow(&self, data: *mut c_void, side: Side, imported: Option<Imported>) -> Result<(), Error> {
        self.head()?;
        let data = NonNull::new(data).ok_or(Error::NullData { side })?;
        if side == Side::Device {
            cuda::driver()?;
        }
        self.unshare()?;
        let mut claim = self.claim_always()?;
        claim.with(|entry| entry.tensors.refuse(Some(side)))?;
        self.finish(&mut claim)?;
        let (now, step) = self.step(Operation::Set(side))?;
        let next = now.with(step.next).borrowing(data, side);
        recorder::record(self.subject(), || What::Lent { side });
        // SAFETY: the caller of this function guarantees Borrowed, and nothing is in flight.
        unsafe { self.replace(claim, now, next, side, imported) };
        Ok(())
    }

    /// Frees one side's block, if the other side holds the newest data.
    ///
    /// # Safety
    /// Pointers to the block are not used any more.
    pub unsafe fn release(&self, side: Side) -> Result<(), Error> {
        self.head()?;
        let mut claim = self.claim_always()?;
        claim.with(|entry| entry.tensors.refuse(Some(side)))?;
        // A pull in flight may make the host current: then the step is decided after it.
        if claim.in_flight.is_none() {
            self.step(Operation::Release(side))?;
        }
        if side == Side::Device {
            cuda::driver()?;
        }
        self.finish(&mut claim)?;
        let (now, step) = self.step(Operation::Release(side))?;
        let next = now.with(step.next).without(side);
        recorder::record(self.subject(), || What::Released { side });
        // SAFETY: the caller of this function gave up pointers to the block, and nothing is in flight.
        unsafe { self.replace(claim, now, next, side, None) };
        Ok(())
    }

    /// Publishes `next` and frees what `side` had. The deleter of a tensor that it borrowed runs last: it may destroy the object.
    ///
    /// # Safety
    /// A block that the object owned at `side` is not used any more, and nothing is in flight.
    unsafe fn replace(
        &self,
        claim: Claim<'_>,
        now: ObjectState,
        next: ObjectState,
        side: Side,
        imported: Option<Imported>,
    ) {
        let old = self.owned(now.word).of(side);
        let before = self.publish_with(claim, next, |entry| entry.tensors.exchange(side, imported));
        // SAFETY: the object no longer refers to the block, and the caller of this function gave up pointers to it.
        unsafe { old.free() };
        exchange::end_imports([before, None]);
    }

    /// Compat: `Resize` of yjxiong's Caffe. A larger size discards both sides; any other has no effect.
    ///
    /// # Safety
    /// If the object grows, its pointers are not used any more.
    pub unsafe fn resize(&self, bytes: usize) -> Result<(), Error> {
        host::check_size(bytes, Side::Host)?;
        self.unshare()?;
        let mut claim = self.claim_always()?;
        let now = self.state()?;
        if bytes <= self.size.load(Ordering::Relaxed) {
            return Ok(());
        }
        claim.with(|entry| entry.tensors.refuse(None))?;
        self.finish(&mut claim)?;
        let old = self.owned(now.word);
        let larger = |entry: &mut Entry| {
            let imports = entry.tensors.take_imports();
            self.size.store(bytes, Ordering::Relaxed);
            self.store(ObjectState::UNTOUCHED, entry.keeps());
            imports
        };
        let imports = claim.publish(larger, || self.identity());
        recorder::record(self.subject(), || What::Resized { bytes: bytes as u64 });
        // SAFETY: the object no longer refers to the blocks, and the caller of this function gave up pointers to them.
        unsafe { old.free() };
        exchange::end_imports(imports);
        Ok(())
    }
}
