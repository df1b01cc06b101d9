//! The memory of tensors: an object, which ends with the last tensor that shares it.
#![expect(unsafe_code, reason = "items are constructed, copied and destructed, and objects ended")]

use std::ffi::c_void;
use std::ptr::NonNull;

use syncedmem_core::head::{Access, Side};

use super::error::Error;
use super::external::Foreign;
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
    /// The type when the memory was made. Items with functions are on the host.
    meta: TypeMeta,
    bytes: usize,
    /// The items to destruct; `None` for plain types and the caller's memory.
    constructed: Option<(NonNull<c_void>, usize)>,
    reported: bool,
}

// SAFETY: any thread may use and end an object, and a type's functions ("Callbacks" in syncedmem_caffe2.h).
unsafe impl Send for Memory {}
// SAFETY: threads share an object by atomics and locks; the other fields do not change once the memory is shared.
unsafe impl Sync for Memory {}

impl Storage {
    /// New memory of `bytes`, which are not 0. Plain items are zeros if `zeroed` and on the host, else undefined; others are
    /// constructed.
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
            // SAFETY: the block is new, holds zeros for `count` items, and is aligned to 64 bytes.
            unsafe { meta.construct(items, count) }?;
            memory.constructed = Some((items, count));
        }
        memory.reported = report::allocated(side, bytes);
        Storage::of(memory)
    }

    /// The caller's memory. After success the last tensor calls its deleter.
    ///
    /// # Safety
    /// Foreign: the memory stays usable on `side` until the deleter is called, or without one as long as a tensor uses it, and
    /// holds items of the type.
    pub unsafe fn external(meta: TypeMeta, bytes: usize, side: Side, memory: Foreign) -> Result<Storage, Error> {
        let storage = Storage::empty(meta, bytes, side)?;
        // SAFETY: the caller of `external` keeps the contract "Foreign".
        unsafe { memory.give_to(storage.object(), bytes, side) }?;
        Ok(storage)
    }

    /// The memory of a tensor of DLPack. After success the last tensor calls its deleter.
    ///
    /// # Safety
    /// Imported: `tensor` describes its memory correctly, and the memory holds items of the type.
    pub unsafe fn dlpack(
        meta: TypeMeta,
        bytes: usize,
        side: Side,
        tensor: NonNull<c_void>,
        versioned: bool,
    ) -> Result<Storage, Error> {
        // SAFETY: the caller of `dlpack` keeps the contract "Imported".
        let (_, its_side, _) = unsafe { Imported::read(tensor, versioned, bytes) }?;
        if its_side != side {
            return Err(Error::Argument(
                "the tensor of DLPack is on the other side; share with one of that side, or copy",
            ));
        }
        let storage = Storage::empty(meta, bytes, side)?;
        // SAFETY: the caller of `dlpack` keeps the contract "Imported"; `Memory::drop` ends the object.
        unsafe { storage.object().set_tensor(tensor, versioned) }?;
        Ok(storage)
    }

    fn empty(meta: TypeMeta, bytes: usize, side: Side) -> Result<Storage, Error> {
        let object = SyncedMemory::create(bytes)?;
        Storage::of(Memory { object, side, meta, bytes, constructed: None, reported: false })
    }

    /// Shares the memory. If there is no memory for the count of references, the object ends.
    fn of(memory: Memory) -> Result<Storage, Error> {
        FallibleArc::new(memory).map(Storage).map_err(Error::out_of_memory)
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

    pub fn meta(&self) -> &TypeMeta {
        &self.0.meta
    }

    /// A number that is unique as long as the memory lives.
    pub fn identity(&self) -> usize {
        self.0.address().addr().get()
    }

    #[inline]
    pub fn data(&self, access: Access) -> Result<NonNull<c_void>, Error> {
        let data = self.object().data(access, self.0.side)?;
        // A storage has bytes, so its sides have addresses.
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
                // Two objects borrow the same memory.
                return Ok(());
            }
            // SAFETY: both storages have `count` items on the host. Items with functions are in memory of the library, which
            // different storages do not share.
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
        // SAFETY: both blocks have that many bytes.
        unsafe { copy::copy(driver, copy::Endpoints { device, host, to: self.0.side, owner, pinned: false }, bytes) }?;
        Ok(())
    }

    /// The object's address if it owns its device block.
    fn owner(&self) -> Option<usize> {
        self.object().owns(Side::Device).unwrap_or(false).then(|| self.0.object.addr().get())
    }
}

impl Memory {
    fn object(&self) -> &SyncedMemory {
        // SAFETY: `SyncedMemory::create` made the object, and only `drop` ends it.
        unsafe { self.object.as_ref() }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some((items, count)) = self.constructed {
            // SAFETY: `new` constructed the items; no tensor uses them any more.
            unsafe { self.meta.destruct(items, count) };
        }
        // Fails only if a caller ended the object against the rules.
        // SAFETY: `SyncedMemory::create` made the object; only its tensors of DLPack use it now, and they keep it alive.
        let _ = unsafe { self.object().destroy() };
        if self.reported {
            report::freed(self.side, self.bytes);
        }
    }
}
