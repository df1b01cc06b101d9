//! The life of an object, and its state: size, head and blocks.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use syncedmem_core::head::Side;

use crate::abi::arguments::{Opaque, handle, out, out_number};
use crate::abi::call::entry;
use crate::abi::status::syncedmem_status_t;
use crate::error::Error;
use crate::memory::host;
use crate::object::SyncedMemory;

/// A `caffe::SyncedMemory`.
pub struct syncedmem_t(());

/// Minimum size of the storage for `syncedmem_construct`, in bytes.
pub const SYNCEDMEM_STORAGE_BYTES: usize = 32;
/// Minimum alignment of that storage, in bytes.
pub const SYNCEDMEM_STORAGE_ALIGNMENT: usize = 8;

const _: () = assert!(size_of::<SyncedMemory>() == SYNCEDMEM_STORAGE_BYTES || cfg!(loom));
const _: () = assert!(align_of::<SyncedMemory>() == SYNCEDMEM_STORAGE_ALIGNMENT || cfg!(loom));

/// Where the newest data is. The numbers are those of `caffe::SyncedMemory::SyncedHead`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum syncedmem_head_t {
    /// Neither side was accessed.
    SYNCEDMEM_UNINITIALIZED = 0,
    /// The host is newer.
    SYNCEDMEM_HEAD_AT_CPU = 1,
    /// The device is newer.
    SYNCEDMEM_HEAD_AT_GPU = 2,
    /// Both sides hold the same data.
    SYNCEDMEM_SYNCED = 3,
}

impl Opaque for syncedmem_t {
    type Value = SyncedMemory;

    unsafe fn value<'a>(handle: *const Self) -> Result<&'a SyncedMemory, Error> {
        let object = handle.cast::<SyncedMemory>();
        if object.is_null() {
            return Err(Error::InvalidArgument {
                what: "mem is NULL; pass a handle from syncedmem_create or syncedmem_construct, or the address of a \
                       caffe::SyncedMemory",
            });
        }
        if !object.is_aligned() {
            return Err(Error::InvalidArgument {
                what: "mem is not aligned to 8 bytes, so it is not a handle; pass the one that \
                       syncedmem_create or syncedmem_construct returned",
            });
        }
        // SAFETY: the C caller passes the address of an object; all its fields are atomics, so references may alias.
        Ok(unsafe { &*object })
    }
}

/// Creates an object of `bytes` on each side, which may be 0, and writes its handle to `*mem`.
///
/// Errors: `OUT_OF_MEMORY` (also if no address space holds `bytes`).
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_create(bytes: usize, mem: *mut *mut syncedmem_t) -> syncedmem_status_t {
    entry!(out(mem), |mem| mem.set(SyncedMemory::create(bytes)?.as_ptr().cast()))
}

/// Destroys an object of `syncedmem_create` and frees the memory it owns. Memory that tensors use is freed with the
/// last of them.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_destroy(mem: *mut syncedmem_t) -> syncedmem_status_t {
    entry!(|| {
        if !mem.is_null() {
            // SAFETY: the C caller passes a live handle, and does not use it again.
            unsafe { handle(mem)?.destroy() }?;
        }
    })
}

/// Works as `syncedmem_create`, in the first 32 bytes of the caller's storage, whose address is the handle.
///
/// Errors: `INVALID_ARGUMENT` (also storage that is misaligned or too small).
///
/// # Safety
/// `storage` is writable for `storage_bytes`, and stays where it is.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_construct(
    storage: *mut c_void,
    storage_bytes: usize,
    bytes: usize,
    mem: *mut *mut syncedmem_t,
) -> syncedmem_status_t {
    entry!(out(mem), |mem| {
        let storage = NonNull::new(storage.cast::<SyncedMemory>()).ok_or(Error::InvalidArgument {
            what: "storage is NULL; pass SYNCEDMEM_STORAGE_BYTES or more bytes of your own",
        })?;
        if !storage.is_aligned() {
            return Err(Error::InvalidArgument {
                what: "storage is not aligned to SYNCEDMEM_STORAGE_ALIGNMENT (8) bytes; an array of uint64_t is",
            });
        }
        if storage_bytes < SYNCEDMEM_STORAGE_BYTES {
            return Err(Error::InvalidArgument {
                what: "storage_bytes is below SYNCEDMEM_STORAGE_BYTES (32); pass a larger storage and its size",
            });
        }
        host::check_size(bytes, Side::Host)?;
        // SAFETY: the storage is aligned and large enough as just checked; the C caller keeps it writable and in place.
        unsafe { SyncedMemory::construct(storage, bytes) };
        mem.set(storage.as_ptr().cast());
    })
}

/// Ends an object of `syncedmem_construct` and frees the memory it owns, but not its storage.
///
/// Errors: `EXPORTED`.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_destruct(mem: *mut syncedmem_t) -> syncedmem_status_t {
    entry!(handle(mem), |object| {
        // SAFETY: the C caller made the object in its storage, which is still there, and does not use the handle again.
        unsafe { object.destruct_unless_exported() }?;
    })
}

/// Writes to `*head` where the newest data is.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_head(mem: *const syncedmem_t, head: *mut syncedmem_head_t) -> syncedmem_status_t {
    entry!(handle(mem), out_number(head), |object, head| head.set(object.head()? as i32))
}

/// Writes the size of each side, in bytes, to `*bytes`.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_size(mem: *const syncedmem_t, bytes: *mut usize) -> syncedmem_status_t {
    entry!(handle(mem), out(bytes), |object, bytes| bytes.set(object.size()?))
}

/// Writes the ordinal of the device that holds the object's device block to `*ordinal`; -1 without a block, or if the
/// driver does not know memory of `syncedmem_set_gpu_data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_device_ordinal(mem: *const syncedmem_t, ordinal: *mut c_int) -> syncedmem_status_t {
    entry!(handle(mem), out(ordinal), |object, ordinal| ordinal.set(object.device_ordinal()?.unwrap_or(-1)))
}

/// Writes to `*pinned` whether this library allocated the object's host block page-locked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_is_pinned(mem: *const syncedmem_t, pinned: *mut bool) -> syncedmem_status_t {
    entry!(handle(mem), out(pinned), |object, pinned| pinned.set(object.is_pinned()?))
}

/// Writes to `*owns` whether the object has a host block that it frees: not for borrowed memory and size 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_owns_cpu(mem: *const syncedmem_t, owns: *mut bool) -> syncedmem_status_t {
    entry!(handle(mem), out(owns), |object, owns| owns.set(object.owns(Side::Host)?))
}

/// Writes to `*owns` whether the object has a device block that it frees: not for borrowed memory and size 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_owns_gpu(mem: *const syncedmem_t, owns: *mut bool) -> syncedmem_status_t {
    entry!(handle(mem), out(owns), |object, owns| owns.set(object.owns(Side::Device)?))
}
