//! An object's memory as a tensor, and a tensor's memory as an object's.
#![expect(unsafe_code, reason = "tensors lead back to their objects")]

use std::ffi::c_void;
use std::ptr::NonNull;

use syncedmem_core::head::{Access, Side};

use super::{Blank, Device, Holding, Imported, Layout, Memory, export, wrong};
use crate::copy;
use crate::cuda;
use crate::cuda::driver::Stream;
use crate::error::Error;
use crate::object::dlpack;
use crate::object::dlpack::tensors::Imports;
use crate::object::table::{Blocking, Claimed};
use crate::object::{Entry, SyncedMemory, TABLE, refused};
use crate::platform::sync::Ordering;

impl SyncedMemory {
    /// Returns a tensor of `side`'s memory, a `DLManagedTensorVersioned` or, without `versioned`, a `DLManagedTensor`.
    /// The memory stays in place until the tensor is deleted.
    pub fn export(
        &self,
        access: Access,
        side: Side,
        layout: Layout<'_>,
        versioned: bool,
    ) -> Result<NonNull<c_void>, Error> {
        if access == Access::Read && !versioned {
            return Err(wrong(
                "a tensor without a version cannot say that it is read-only; pass versioned = true, or an access that writes",
            ));
        }
        self.head()?;
        if side == Side::Device {
            cuda::driver()?;
        }
        // Must come before any change: if the driver does not know a borrowed block, this is an error.
        let before = self.device_of(side)?;
        let blank = Blank::new(layout)?;
        // The deleter of the tensor finds the object by its address.
        std::ptr::from_ref(self).expose_provenance();
        let holding = self.open_export(side)?;
        let data = self.data(access, side).inspect_err(|_| {
            let _ = self.with_entry(|entry| entry.tensors.close(side));
        })?;
        // An object of 0 bytes has no device block.
        let nowhere = Device { kind: dlpack::CUDA, ordinal: 0 };
        let device = self.device_of(side).ok().flatten().or(before).unwrap_or(nowhere);
        let flags = if access == Access::Read { dlpack::READ_ONLY } else { 0 };
        Ok(blank.fill(versioned, Memory { data, device, flags }, holding, delete))
    }

    /// Counts one more tensor in the object's entry, which it makes if there is none.
    fn open_export(&self, side: Side) -> Result<Holding, Error> {
        let open = |entry: &mut Entry| {
            let holding = entry.tensors.open(self.address(), side)?;
            // Relaxed: while the slow bit is set, readers take the lock.
            self.word.store(self.load().slow().0, Ordering::Relaxed);
            Ok(holding)
        };
        match self.claim_unless(Blocking::Yes, |entry| entry.map(open)).map_err(refused)? {
            Claimed::Ready(answer) => answer,
            Claimed::Owner(claim) => claim.publish(open, || self.identity()),
        }
    }

    /// The device of `side`'s memory. `None` if the side has no block.
    fn device_of(&self, side: Side) -> Result<Option<Device>, Error> {
        if side == Side::Host {
            return Ok(Some(Device { kind: dlpack::CPU, ordinal: 0 }));
        }
        if self.now()?.device.is_none() {
            return Ok(None);
        }
        let known = self.device_ordinal()?.filter(|&ordinal| ordinal >= 0);
        let ordinal = known.ok_or(wrong(
            "the CUDA driver does not know on which device the object's device memory is; lend memory that it allocated",
        ))?;
        Ok(Some(Device { kind: dlpack::CUDA, ordinal }))
    }

    /// Tensors in use, by side.
    pub fn exports(&self) -> Result<[usize; 2], Error> {
        self.head()?;
        Ok(self.with_entry(|entry| entry.tensors.exported())?.unwrap_or([0, 0]))
    }

    /// Borrows a tensor's memory, and calls its deleter when the object releases that. On an error the tensor stays the
    /// caller's.
    ///
    /// # Safety
    /// The caller of this function guarantees what [`Imported::read`] asks, and Borrowed of `set_data` for the tensor's memory.
    pub unsafe fn set_tensor(&self, tensor: NonNull<c_void>, versioned: bool) -> Result<(), Error> {
        // SAFETY: the caller of this function guarantees what `read` asks.
        let (imported, side, data) = unsafe { Imported::read(tensor, versioned, self.size()?) }?;
        // SAFETY: the caller of this function guarantees Borrowed. Afterwards the object may have ended: see `replace`.
        unsafe { self.borrow(data, side, Some(imported)) }
    }

    /// See [`copy::transfer::follow_default_stream`].
    ///
    /// # Safety
    /// Stream: `stream` is NULL, one of CUDA's two special handles, or a live CUDA stream.
    pub unsafe fn stream_wait(&self, stream: *mut c_void) -> Result<(), Error> {
        self.head()?;
        let driver = cuda::driver()?;
        // SAFETY: the caller of this function guarantees Stream.
        let stream = unsafe { Stream::of(stream) };
        if !stream.is_legacy() {
            cuda::capture::refuse_captured(driver, stream)?;
        }
        self.wait()?;
        let now = self.state()?;
        let Some(block) = now.device else { return Ok(()) };
        let owner = now.word.owns_device().then_some(self.address());
        copy::transfer::follow_default_stream(driver, block, owner, stream)
    }
}

/// Returns borrowed tensors to their makers.
pub(in crate::object) fn end_imports(imports: Imports) {
    close_all(holdings_of(imports));
}

fn holdings_of(imports: Imports) -> impl Iterator<Item = Holding> {
    imports.into_iter().flatten().filter_map(Imported::end)
}

/// A tensor may be a destroyed object's last, which then ends and returns tensors in turn: objects wait in a list
/// through their storage, because a recursion could be of any depth.
fn close_all(holdings: impl Iterator<Item = Holding>) {
    let mut waiting = None;
    holdings.for_each(|holding| close(holding, &mut waiting));
    while let Some(object) = waiting {
        // SAFETY: as in `close`.
        let next = unsafe { SyncedMemory::next_to_end(object) };
        // SAFETY: `close` wrote it.
        waiting = unsafe { next.read() };
        // SAFETY: the object was destroyed, and its last tensor is gone: only this function refers to it.
        let object = unsafe { object.as_ref() };
        // SAFETY: only objects of `create` wait, and the callers of `destroy` and of the deleters have given them up.
        let Ok(imports) = (unsafe { object.end() }) else { continue };
        // SAFETY: the object came from `create`, and has ended.
        unsafe { object.free_storage() };
        holdings_of(imports).for_each(|holding| close(holding, &mut waiting));
    }
}

/// The deleter of this library's tensors: any thread may call it, once.
unsafe extern "C-unwind" fn delete(tensor: *mut c_void) {
    // DLPack never passes NULL, but some callers do.
    let Some(tensor) = NonNull::new(tensor) else { return };
    // SAFETY: the caller of a deleter passes its own tensor, which `Blank::fill` made.
    let holding = unsafe { export::free(tensor) };
    let _ = std::panic::catch_unwind(|| close_all(std::iter::once(holding)));
}

/// Adds the object to `waiting` if it was destroyed and this was its last.
fn close(holding: Holding, waiting: &mut Option<NonNull<SyncedMemory>>) {
    let is_last = TABLE.at(holding.object, |entry| {
        // An object that ended without a call to the library has no entry any more.
        let Some(entry) = entry.filter(|entry| entry.tensors.know(holding)) else { return false };
        entry.tensors.close(holding.side)
    });
    let object = NonNull::new(std::ptr::with_exposed_provenance_mut::<SyncedMemory>(holding.object));
    if let (Some(object), Ok(true)) = (object, is_last) {
        // SAFETY: it was destroyed, and this was its last tensor.
        let next = unsafe { SyncedMemory::next_to_end(object) };
        // SAFETY: the object was destroyed, and its last tensor is gone: only this function refers to it.
        unsafe { next.write(waiting.replace(object)) };
    }
}
