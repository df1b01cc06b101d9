//! The memory of tensors: an object, which the last of them ends.
#![expect(unsafe_code, reason = "items are constructed, copied and destructed, and objects ended")]

use std::ffi::c_void;
use std::ptr::NonNull;

use syncedmem_core::head::{Access, Side};

use super::error::Error;
use super::external::Lent;
use super::report;
use super::typemeta::TypeMeta;
use crate::copy;
use crate::cuda;
use crate::object::SyncedMemory;
use crate::object::dlpack::Imported;
use crate::platform::fallible_arc::FallibleArc;

#[derive(Clone)]
pub struct Storage(FallibleArc<Memory>);

struct Memory {
    object: NonNull<SyncedMemory>,
    side: Side,
    /// Items with functions are on the host.
    meta: TypeMeta,
    bytes: usize,
    /// None for plain types and the caller's memory.
    constructed: Option<(NonNull<c_void>, usize)>,
    reported: bool,
}

// SAFETY: any thread may use and end an object.
unsafe impl Send for Memory {}
// SAFETY: as above; the other fields do not change once the memory is shared.
unsafe impl Sync for Memory {}

impl Storage {
    /// `bytes` is not 0. Plain items are zeros if `zeroed`, and undefined on the device; others are constructed.
    pub fn new(meta: TypeMeta, bytes: usize, side: Side, zeroed: bool) -> Result<Storage, Error> {
        let plain = meta.is_plain();
        if side == Side::Device && !plain {
            return Err(Error::Unsupported(
                "the type has constructors, which run on the host; use a plain type, or a tensor of the host",
            ));
        }
        let object = match side {
            Side::Host => SyncedMemory::create_at_host(bytes, zeroed || !plain)?,
            Side::Device => SyncedMemory::create(bytes)?,
        };
        let mut memory = Memory { object, side, meta, bytes, constructed: None, reported: false };
        let data = memory.object().data(if side == Side::Host { Access::Write } else { Access::Overwrite }, side)?;
        if let Some(items) = NonNull::new(data).filter(|_| !plain) {
            let count = bytes / meta.itemsize;
            // SAFETY: the block is new, of that size, and aligned to 64 bytes.
            unsafe { meta.construct(items, count) }?;
            memory.constructed = Some((items, count));
        }
        memory.reported = report::allocated(side, bytes);
        Storage::of(memory)
    }

    /// After success the last tensor calls the deleter.
    ///
    /// # Safety
    /// The memory stays usable on `side` until then, and holds items of the type.
    pub unsafe fn external(meta: TypeMeta, bytes: usize, side: Side, lent: Lent) -> Result<Storage, Error> {
        let storage = Storage::empty(meta, bytes, side)?;
        // SAFETY: the caller guarantees the memory.
        unsafe { lent.lend_to(storage.object(), bytes, side) }?;
        Ok(storage)
    }

    /// After success the last tensor calls the deleter.
    ///
    /// # Safety
    /// As for `SyncedMemory::set_tensor`; the items are of the type.
    pub unsafe fn dlpack(
        meta: TypeMeta,
        bytes: usize,
        side: Side,
        tensor: NonNull<c_void>,
        versioned: bool,
    ) -> Result<Storage, Error> {
        // SAFETY: the caller guarantees it.
        let (_, its_side, _) = unsafe { Imported::read(tensor, versioned, bytes) }?;
        if its_side != side {
            return Err(Error::Argument(
                "the tensor of DLPack is on the other side; share with one of that side, or copy",
            ));
        }
        let storage = Storage::empty(meta, bytes, side)?;
        // SAFETY: the caller guarantees it.
        unsafe { storage.object().set_tensor(tensor, versioned) }?;
        Ok(storage)
    }

    fn empty(meta: TypeMeta, bytes: usize, side: Side) -> Result<Storage, Error> {
        let object = SyncedMemory::create(bytes)?;
        Storage::of(Memory { object, side, meta, bytes, constructed: None, reported: false })
    }

    /// The object ends if there is no memory for the share.
    fn of(memory: Memory) -> Result<Storage, Error> {
        FallibleArc::new(memory).map(Storage).map_err(Error::no_room)
    }

    pub fn object(&self) -> &SyncedMemory {
        self.0.object()
    }

    pub fn handle(&self) -> Result<NonNull<SyncedMemory>, Error> {
        if !self.0.meta.is_plain() {
            return Err(Error::Unsupported(
                "the items have constructors, so their memory stays where it is; use raw_data, or a tensor of a plain type",
            ));
        }
        Ok(self.0.object)
    }

    pub fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// The type when the memory was made.
    pub fn meta(&self) -> &TypeMeta {
        &self.0.meta
    }

    /// Unique while the memory lives.
    pub fn identity(&self) -> usize {
        self.0.address().addr().get()
    }

    #[inline]
    pub fn data(&self, access: Access) -> Result<NonNull<c_void>, Error> {
        let data = self.object().data(access, self.0.side)?;
        // It has bytes, so it has an address.
        NonNull::new(data).ok_or(Error::Own(crate::error::Error::Internal))
    }

    /// Copies the first `count` items, of the same type, from any side.
    pub fn copy_from(&self, source: &Storage, meta: &TypeMeta, count: i64) -> Result<(), Error> {
        let count = usize::try_from(count).unwrap_or(0);
        if self.identity() == source.identity() || count == 0 {
            return Ok(());
        }
        let (from, to) = (source.data(Access::Read)?, self.data(Access::Write)?);
        if !meta.is_plain() || (self.0.side, source.0.side) == (Side::Host, Side::Host) {
            if from == to {
                // The caller lent the same memory twice.
                return Ok(());
            }
            // SAFETY: both have that many items, in different objects.
            return unsafe { meta.copy(from, to, count) };
        }
        let bytes = count * meta.itemsize;
        let driver = cuda::driver()?;
        let (device, host, owner) = match (self.0.side, source.0.side) {
            (Side::Device, Side::Device) => {
                // SAFETY: both blocks have that many bytes.
                return Ok(unsafe { copy::between_devices(driver, (to, self.owner()), from, bytes) }?);
            }
            (Side::Device, Side::Host) => (to, from, self.owner()),
            (Side::Host, _) => (from, to, source.owner()),
        };
        // SAFETY: as above.
        unsafe { copy::copy(driver, copy::Endpoints { device, host, to: self.0.side, owner, pinned: false }, bytes) }?;
        Ok(())
    }

    /// The object's address, if it owns its device block.
    fn owner(&self) -> Option<usize> {
        self.object().owns(Side::Device).unwrap_or(false).then(|| self.0.object.addr().get())
    }
}

impl Memory {
    fn object(&self) -> &SyncedMemory {
        // SAFETY: `create` made it, and `drop` ends it.
        unsafe { self.object.as_ref() }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some((items, count)) = self.constructed {
            // SAFETY: `new` constructed them; no tensor is left.
            unsafe { self.meta.destruct(items, count) };
        }
        // Fails only if a caller ended the object against the rules. SAFETY: `create` made it; only its tensors of
        // DLPack use it now.
        let _ = unsafe { self.object().destroy() };
        if self.reported {
            report::freed(self.side, self.bytes);
        }
    }
}
