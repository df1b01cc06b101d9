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
    /// `versioned`, a `DLManagedTensor`. Until it is deleted the object stays as it is. On an error nothing has changed but,
    /// where the device is unknown to the driver, the head.
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
        let blank = Blank::new(versioned)?;
        // Its deleter finds the object by its address.
        std::ptr::from_ref(self).expose_provenance();
        let holding = EXPORTS.open(self.address(), side)?;
        let data = self.data(access, side).inspect_err(|_| {
            EXPORTS.close(holding);
        })?;
        let device = match self.device_of(side, data) {
            Ok(device) => device,
            Err(error) => {
                let_go(holding);
                return Err(error);
            }
        };
        let flags = if access == Access::Read { dlpack::READ_ONLY } else { 0 };
        Ok(blank.fill(layout, Memory { data, device, flags }, holding, let_go))
    }

    /// Where `data`, on `side`, is in DLPack's words.
    fn device_of(&self, side: Side, data: *mut c_void) -> Result<Device, Error> {
        let ordinal = match side {
            Side::Host => return Ok(Device { kind: dlpack::CPU, ordinal: 0 }),
            Side::Device => self.device_ordinal()?,
        };
        // Where there are no bytes there is no block, and any device will do.
        let ordinal = ordinal.or(data.is_null().then_some(0)).ok_or(Error::InvalidArgument {
            what: "the CUDA driver does not know on which device the object's device memory is; lend memory that it \
                   allocated",
        })?;
        Ok(Device { kind: dlpack::CUDA, ordinal })
    }

    /// How many tensors of each side are in use: the host's, the device's.
    pub fn exports(&self) -> Result<[usize; 2], Error> {
        self.head()?;
        Ok(EXPORTS.tensors(self.address()))
    }

    /// An error while tensors of the object are in use.
    pub fn refuse_if_exported(&self) -> Result<(), Error> {
        EXPORTS.refuse(self.address(), None)
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
        let set = match side {
            // SAFETY: the caller guarantees it.
            Side::Host => unsafe { self.set_cpu_data(data) },
            // SAFETY: as above.
            Side::Device => unsafe { self.set_gpu_data(data) },
        };
        EXPORTS.settle(self.address(), set.is_ok().then_some((side, lent)));
        set
    }

    /// Makes what `stream` is given from now on wait for what the legacy default stream has where the device block is.
    ///
    /// # Safety
    /// `stream` is NULL, one of CUDA's two special handles, or a stream.
    pub unsafe fn stream_wait(&self, stream: *mut c_void) -> Result<(), Error> {
        self.head()?;
        let driver = cuda::driver()?;
        self.wait()?;
        let now = self.now()?;
        let Some(block) = now.device else { return Ok(()) };
        let owner = now.word.owns_device().then_some(self.address());
        // SAFETY: the caller guarantees it.
        unsafe { device::transfer::follow_default_stream(driver, block, owner, stream) }
    }

    /// What was lent to `side` is not referred to any more.
    pub(super) fn return_lent(&self, side: Side) {
        if let Some(lent) = EXPORTS.let_go(self.address(), side) {
            lent.end();
        }
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
    EXPORTS.forget(address).into_iter().flatten().for_each(Lent::end);
}

/// A tensor was deleted, or could not be made: one access ends, and with the last one an object that was destroyed before.
fn let_go(holding: Holding) {
    // Otherwise the object was ended behind its back.
    if !EXPORTS.knows(holding) {
        return;
    }
    let object: *const SyncedMemory = std::ptr::with_exposed_provenance(holding.object);
    // SAFETY: an object lives as long as tensors of it are counted, and this one is.
    let object = unsafe { &*object };
    // There is none to end if the object is not evictable, or not any more.
    let _ = object.end_access();
    if EXPORTS.close(holding) {
        // SAFETY: only objects of `create` are destroyed, and whoever destroyed it and its tensors were the last to use it.
        let _ = unsafe { object.end() };
    }
}
