//! Access to the two sides of an object.
#![expect(unsafe_code, reason = "C functions")]

use std::ffi::c_void;

use super::call;
use super::object::syncedmem_t;
use super::pointers::{Out, object};
use crate::abi::status::syncedmem_status_t;
use crate::error::Error;
use crate::object::SyncedMemory;
use crate::state::fast_path;
use crate::state::head::{Access, Side};

/// Writes the address of `side`'s data to `*data`, ready for `access`: at once where nothing need be done.
///
/// # Safety
/// `mem` is NULL or a handle; `data` is NULL or writable.
#[inline(always)]
unsafe fn data(
    name: &'static str,
    mem: *mut syncedmem_t,
    access: Access,
    side: Side,
    data: *mut *mut c_void,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    if let (Ok(object), Ok(out)) = (unsafe { object(mem) }, unsafe { Out::new(data) }) {
        if let Some(address) = object.ready_if(fast_path::deciding(access, side), side) {
            out.set(address);
            return syncedmem_status_t::SYNCEDMEM_SUCCESS;
        }
    }
    // SAFETY: the caller guarantees it.
    unsafe { prepared(name, mem, access, side, data) }
}

/// The same where something is to be done, or refused. It is an entry point too: call sites are told by its frame.
///
/// # Safety
/// As for `data`.
#[inline(never)]
#[unsafe(link_section = "syncedmem_entry")]
unsafe fn prepared(
    name: &'static str,
    mem: *mut syncedmem_t,
    access: Access,
    side: Side,
    data: *mut *mut c_void,
) -> syncedmem_status_t {
    call(name, || {
        // SAFETY: the caller guarantees it.
        let object = unsafe { object(mem) }?;
        // SAFETY: the caller guarantees it.
        let out = unsafe { Out::new(data) }?;
        // Of the device side C++ alone opens it: where Caffe was built with CPU_ONLY, only C may use the device.
        if side == Side::Host {
            fast_path::open(access, side);
        }
        out.set(object.data(access, side)?);
        Ok(())
    })
}

/// Does `work` on the object behind `mem`.
///
/// # Safety
/// `mem` is NULL or a handle.
#[inline(always)]
pub unsafe fn with(
    name: &str,
    mem: *mut syncedmem_t,
    work: impl FnOnce(&SyncedMemory) -> Result<(), Error>,
) -> syncedmem_status_t {
    call(name, || {
        // SAFETY: the caller guarantees it.
        work(unsafe { object(mem) }?)
    })
}

/// Writes the address of the host data to `*data`, for reading: allocates and zeroes it at the first touch, copies it
/// from the device if that is newer.
///
/// The address stays the same, and readable, until the object is ended, or its host side released or set.
///
/// Errors: `INVALID_ARGUMENT`, `INVALID_HANDLE`, `OUT_OF_MEMORY`, `NO_GPU` (the device is newer and out of reach),
/// `DRIVER`, `PENDING`, `WRONG_DEVICE` (with the device check on), `REENTERED`.
///
/// # Safety
/// `mem` is NULL or a handle; `data` is NULL or writable.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_cpu_data(mem: *mut syncedmem_t, data: *mut *const c_void) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { self::data("syncedmem_cpu_data", mem, Access::Read, Side::Host, data.cast()) }
}

/// Writes the address of the host data to `*data`, for reading and writing: as `syncedmem_cpu_data`, and the host is
/// the newest side afterwards.
///
/// Errors: as `syncedmem_cpu_data`.
///
/// # Safety
/// `mem` is NULL or a handle; `data` is NULL or writable.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_mutable_cpu_data(
    mem: *mut syncedmem_t,
    data: *mut *mut c_void,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { self::data("syncedmem_mutable_cpu_data", mem, Access::Write, Side::Host, data) }
}

/// Writes the address of the host data to `*data`, for writing alone: neither zeroed nor copied. The host is the
/// newest side afterwards, and the caller promises to write all of it: until then its contents are undefined.
///
/// Errors: `INVALID_ARGUMENT`, `INVALID_HANDLE`, `OUT_OF_MEMORY`, `DRIVER`, `PENDING`, `WRONG_DEVICE` (with the device
/// check on), `REENTERED`.
///
/// # Safety
/// `mem` is NULL or a handle; `data` is NULL or writable.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_overwrite_cpu_data(
    mem: *mut syncedmem_t,
    data: *mut *mut c_void,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { self::data("syncedmem_overwrite_cpu_data", mem, Access::Overwrite, Side::Host, data) }
}

/// Writes the address of the device data to `*data`, for reading: the mirror image of `syncedmem_cpu_data`. It is NULL
/// for size 0. A new block is on the device that is current on this thread.
///
/// Errors: `INVALID_ARGUMENT`, `INVALID_HANDLE`, `NO_GPU`, `OUT_OF_MEMORY`, `DRIVER`, `PENDING`, `WRONG_DEVICE` (with
/// the device check on), `REENTERED`.
///
/// # Safety
/// `mem` is NULL or a handle; `data` is NULL or writable.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_gpu_data(mem: *mut syncedmem_t, data: *mut *const c_void) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { self::data("syncedmem_gpu_data", mem, Access::Read, Side::Device, data.cast()) }
}

/// Writes the address of the device data to `*data`, for reading and writing: the mirror image of
/// `syncedmem_mutable_cpu_data`.
///
/// Errors: as `syncedmem_gpu_data`.
///
/// # Safety
/// `mem` is NULL or a handle; `data` is NULL or writable.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_mutable_gpu_data(
    mem: *mut syncedmem_t,
    data: *mut *mut c_void,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { self::data("syncedmem_mutable_gpu_data", mem, Access::Write, Side::Device, data) }
}

/// Writes the address of the device data to `*data`, for writing alone: the mirror image of
/// `syncedmem_overwrite_cpu_data`.
///
/// Errors: as `syncedmem_gpu_data`.
///
/// # Safety
/// `mem` is NULL or a handle; `data` is NULL or writable.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_overwrite_gpu_data(
    mem: *mut syncedmem_t,
    data: *mut *mut c_void,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { self::data("syncedmem_overwrite_gpu_data", mem, Access::Overwrite, Side::Device, data) }
}

/// Makes the caller's memory the host side, which is the newest afterwards. It is borrowed, never freed; a host
/// block that the object owned is freed at once; the device block stays.
///
/// A later copy from the device writes into the caller's memory.
///
/// Errors: `INVALID_ARGUMENT` (also where `data` is NULL), `INVALID_HANDLE`, `OUT_OF_MEMORY`, `DRIVER` and `PENDING` (a
/// copy in flight could not be waited for), `WRONG_DEVICE` (with the device check on), `REENTERED`, `EXPORTED` (tensors of
/// that side are in use).
///
/// # Safety
/// `mem` is NULL or a handle. `data` is NULL, or readable and writable for the object's size while the object
/// refers to it. The pointer to an owned host block is not used any more.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_set_cpu_data(mem: *mut syncedmem_t, data: *mut c_void) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it, of `data` and of the old block's pointer.
    let set = |object: &SyncedMemory| unsafe { object.set_cpu_data(data) };
    // SAFETY: the caller guarantees it, of the handle.
    unsafe { with("syncedmem_set_cpu_data", mem, set) }
}

/// Makes the caller's device memory the device side, which is the newest afterwards: the mirror image of
/// `syncedmem_set_cpu_data`. It may be on any device, and managed memory will do.
///
/// Errors: as `syncedmem_set_cpu_data`, and `NO_GPU`.
///
/// # Safety
/// `mem` is NULL or a handle. `data` is NULL, or device memory of the object's size while the object refers to it.
/// The pointer to an owned device block is not used any more.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_set_gpu_data(mem: *mut syncedmem_t, data: *mut c_void) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it, of `data` and of the old block's pointer.
    let set = |object: &SyncedMemory| unsafe { object.set_gpu_data(data) };
    // SAFETY: the caller guarantees it, of the handle.
    unsafe { with("syncedmem_set_gpu_data", mem, set) }
}

/// Gives back the host block while the device holds the newest data. The next host access allocates it again.
///
/// Errors: `INVALID_ARGUMENT`, `INVALID_HANDLE`, `INVALID_STATE` (the device does not hold the newest data, so
/// nothing is given back), `DRIVER` and `PENDING` (a copy in flight could not be waited for), `WRONG_DEVICE` (with the
/// device check on), `REENTERED`, `EXPORTED` (tensors of that side are in use).
///
/// # Safety
/// `mem` is NULL or a handle; pointers to its host data are not used any more.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_release_cpu(mem: *mut syncedmem_t) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it, of the old block's pointer.
    let release = |object: &SyncedMemory| unsafe { object.release(Side::Host) };
    // SAFETY: the caller guarantees it, of the handle.
    unsafe { with("syncedmem_release_cpu", mem, release) }
}

/// Gives back the device block while the host holds the newest data: the mirror image of `syncedmem_release_cpu`.
///
/// Errors: as `syncedmem_release_cpu`, and `NO_GPU`.
///
/// # Safety
/// `mem` is NULL or a handle; pointers to its device data are not used any more.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_release_gpu(mem: *mut syncedmem_t) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it, of the old block's pointer.
    let release = |object: &SyncedMemory| unsafe { object.release(Side::Device) };
    // SAFETY: the caller guarantees it, of the handle.
    unsafe { with("syncedmem_release_gpu", mem, release) }
}
