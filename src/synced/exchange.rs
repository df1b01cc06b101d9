//! Exchange with other libraries: the object's memory as a tensor of DLPack's, and a tensor's memory as the object's.
#![expect(unsafe_code, reason = "tensors lead back to their objects")]

use std::ffi::c_void;
use std::ptr::NonNull;

use super::{EXPORTS, SyncedMemory};
use crate::cuda;
use crate::device;
use crate::dlpack::{self, Blank, Device, Holding, Layout, Lent, Memory};
use crate::error::Error;
use crate::head::{Access, Side};

impl SyncedMemory {
    /// Makes `side` ready for `access` and returns a tensor of its memory: a `DLManagedTensorVersioned`, or, without
    /// `versioned`, a `DLManagedTensor`. Until it is deleted the object stays as it is. On an error nothing has changed.
    pub fn export(
        &self,
        access: Access,
        side: Side,
        layout: Layout<'_>,
        versioned: bool,
    ) -> Result<NonNull<c_void>, Error> {
        if access == Access::Read && !versioned {
            return Err(Error::InvalidArgument {
                what: "a tensor without a version cannot say that it is read-only; pass versioned = true, or an access \
                       that writes",
            });
        }
        self.head()?;
        if side == Side::Device {
            cuda::driver()?;
        }
        // Of a block that is there it is asked before anything changes: a new one is the library's own.
        let before = self.device_of(side)?;
        let blank = Blank::new(versioned)?;
        // Its deleter finds the object by its address.
        std::ptr::from_ref(self).expose_provenance();
        let holding = EXPORTS.open(self.address(), side)?;
        let data = self.data(access, side).inspect_err(|_| {
            EXPORTS.close(holding);
        })?;
        // Where there are no bytes there is no block, and any device will do.
        let nowhere = Device { kind: dlpack::CUDA, ordinal: 0 };
        let device = self.device_of(side).ok().flatten().or(before).unwrap_or(nowhere);
        let flags = if access == Access::Read { dlpack::READ_ONLY } else { 0 };
        Ok(blank.fill(layout, Memory { data, device, flags }, holding, let_go))
    }

    /// Where `side`'s block is, in DLPack's words; `None` if there is none.
    fn device_of(&self, side: Side) -> Result<Option<Device>, Error> {
        if side == Side::Host {
            return Ok(Some(Device { kind: dlpack::CPU, ordinal: 0 }));
        }
        if self.now()?.device.is_none() {
            return Ok(None);
        }
        let known = self.device_ordinal()?.filter(|&ordinal| ordinal >= 0);
        let ordinal = known.ok_or(Error::InvalidArgument {
            what: "the CUDA driver does not know on which device the object's device memory is; lend memory that it \
                   allocated",
        })?;
        Ok(Some(Device { kind: dlpack::CUDA, ordinal }))
    }

    /// How many tensors of each side are in use: the host's, the device's.
    pub fn exports(&self) -> Result<[usize; 2], Error> {
        self.head()?;
        Ok(EXPORTS.tensors(self.address()))
    }

    /// Ends an object in somebody else's storage, unless tensors of it are in use: they could not end it later.
    ///
    /// # Safety
    /// As for `destruct`.
    pub unsafe fn destruct_unless_exported(&self) -> Result<(), Error> {
        self.head()?;
        EXPORTS.refuse(self.address(), None)?;
        // SAFETY: the caller guarantees it.
        unsafe { self.destruct() }
    }

    /// Borrows a tensor's memory, as `set_cpu_data` or `set_gpu_data` does, and with it the tensor: its deleter is called
    /// when the object lets that memory go. On an error the tensor stays the caller's.
    ///
    /// # Safety
    /// `tensor` leads to a `DLManagedTensorVersioned`, or, without `versioned`, to a `DLManagedTensor`, whose memory is as it
    /// says; otherwise as for `set_cpu_data` and `set_gpu_data`.
    pub unsafe fn set_tensor(&self, tensor: NonNull<c_void>, versioned: bool) -> Result<(), Error> {
        // SAFETY: the caller guarantees it.
        let (lent, side, data) = unsafe { Lent::read(tensor, versioned, self.size()?) }?;
        EXPORTS.reserve(self.address())?;
        // SAFETY: the caller guarantees it. On success the object may be gone by now: see `replace`.
        unsafe { self.borrow(data, side, Some(lent)) }.inspect_err(|_| EXPORTS.unreserve(self.address()))
    }

    /// Makes what `stream` is given from now on wait for what the legacy default stream has where the device block is.
    ///
    /// # Safety
    /// `stream` is NULL, one of CUDA's two special handles, or a stream.
    pub unsafe fn stream_wait(&self, stream: *mut c_void) -> Result<(), Error> {
        self.head()?;
        let driver = cuda::driver()?;
        // NULL and CU_STREAM_LEGACY are that stream.
        if stream.addr() > 1 {
            // SAFETY: the caller guarantees it.
            unsafe { cuda::capture::refuse_captured(driver, stream.cast()) }?;
        }
        self.wait()?;
        let now = self.now()?;
        let Some(block) = now.device else { return Ok(()) };
        let owner = now.word.owns_device().then_some(self.address());
        // SAFETY: the caller guarantees it.
        unsafe { device::transfer::follow_default_stream(driver, block, owner, stream) }
    }

    /// The object is no more: nor is what is known of its tensors.
    #[inline]
    pub(super) fn forget_exchange(address: usize) {
        if !EXPORTS.is_empty() {
            forget(address);
        }
    }
}

#[cold]
fn forget(address: usize) {
    end_lent(EXPORTS.forget(address).into_iter().flatten());
}

/// Ends what was lent, and with it objects that were destroyed before and wait for their last tensor, to which tensors may have
/// been lent, too: one after the other, however long the chain.
pub(super) fn end_lent(lent: impl IntoIterator<Item = Lent>) {
    let mut waiting = None;
    for lent in lent {
        end_one(lent, &mut waiting);
    }
    end_waiting(waiting);
}

/// The first of the objects that wait for their end; each knows the next.
type Waiting = Option<NonNull<SyncedMemory>>;

fn end_one(lent: Lent, waiting: &mut Waiting) {
    if let Some(object) = lent.end().and_then(close) {
        // SAFETY: it was destroyed, and this was its last tensor: see `close`.
        let next = unsafe { SyncedMemory::next_to_end(object) };
        // SAFETY: nobody else knows it.
        unsafe { next.write(waiting.replace(object)) };
    }
}

fn end_waiting(mut waiting: Waiting) {
    while let Some(object) = waiting {
        // SAFETY: as in `end_one`.
        let next = unsafe { SyncedMemory::next_to_end(object) };
        // SAFETY: `end_one` has written it.
        waiting = unsafe { next.read() };
        // SAFETY: nobody else knows it.
        let object = unsafe { object.as_ref() };
        // SAFETY: only objects of `create` are destroyed, and whoever destroyed it and its tensors were the last to use it.
        if let Ok(Some(lent)) = unsafe { object.end_alone() } {
            lent.into_iter().flatten().for_each(|lent| end_one(lent, &mut waiting));
        }
    }
}

/// A tensor was deleted, or could not be made.
fn let_go(holding: Holding) {
    if let Some(object) = close(holding) {
        // SAFETY: nobody else knows it: see `close`.
        let object = unsafe { object.as_ref() };
        // SAFETY: only objects of `create` are destroyed, and whoever destroyed it and its tensors were the last to use it.
        let _ = unsafe { object.end() };
    }
}

/// One tensor less: an access ends, and with the last one an object that was destroyed before, which then is the caller's to end.
fn close(holding: Holding) -> Option<NonNull<SyncedMemory>> {
    // Otherwise the object was ended behind its back.
    if !EXPORTS.knows(holding) {
        return None;
    }
    let object = NonNull::new(std::ptr::with_exposed_provenance_mut::<SyncedMemory>(holding.object))?;
    // SAFETY: an object lives as long as tensors of it are counted, and this one is.
    let alive = unsafe { object.as_ref() };
    // There is none to end if the object is not evictable, or not any more.
    let _ = alive.end_access();
    EXPORTS.close(holding).then_some(object)
}
