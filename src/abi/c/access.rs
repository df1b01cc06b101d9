//! Access to both sides.

use std::ffi::c_void;

use syncedmem_trace::head::{Access, Side};

use super::object::syncedmem_t;
use crate::abi::arguments::Out;
use crate::abi::opaque::{Opaque, ask, with};
use crate::abi::status::syncedmem_status_t;
use crate::object::SyncedMemory;
use crate::state::fast_path;

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
    if let (Ok(object), Ok(out)) = (unsafe { Opaque::value(mem) }, unsafe { Out::new(data) }) {
        if let Some(address) = object.ready_if(fast_path::deciding(access, side), side) {
            out.set(address);
            return syncedmem_status_t::SYNCEDMEM_SUCCESS;
        }
    }
    // SAFETY: the caller guarantees it.
    unsafe { prepared(name, mem, access, side, data) }
}

/// The rest of `data`. Call sites are found by its frame.
#[inline(never)]
#[unsafe(link_section = "syncedmem_entry")]
unsafe fn prepared(
    name: &'static str,
    mem: *mut syncedmem_t,
    access: Access,
    side: Side,
    data: *mut *mut c_void,
) -> syncedmem_status_t {
    let work = |object: &SyncedMemory| {
        // C++ alone opens the device's gate: beside a Caffe of CPU_ONLY only C may use the device.
        if side == Side::Host {
            fast_path::open(access, side);
        }
        object.data(access, side)
    };
    // SAFETY: the caller guarantees it.
    unsafe { ask(name, mem, data, work) }
}

/// Writes the address of the host data to `*data`, for reading. A first access allocates zeros; newer data is copied
/// from the device.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_cpu_data(mem: *mut syncedmem_t, data: *mut *const c_void) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { self::data("syncedmem_cpu_data", mem, Access::Read, Side::Host, data.cast()) }
}

/// As `syncedmem_cpu_data`, for reading and writing. The host is then the newest side.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_mutable_cpu_data(
    mem: *mut syncedmem_t,
    data: *mut *mut c_void,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { self::data("syncedmem_mutable_cpu_data", mem, Access::Write, Side::Host, data) }
}

/// As `syncedmem_mutable_cpu_data`, but neither fills nor copies: the contents are undefined, and the caller writes all
/// of them.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_overwrite_cpu_data(
    mem: *mut syncedmem_t,
    data: *mut *mut c_void,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { self::data("syncedmem_overwrite_cpu_data", mem, Access::Overwrite, Side::Host, data) }
}

/// As `syncedmem_cpu_data`, for the device data; NULL for size 0.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_gpu_data(mem: *mut syncedmem_t, data: *mut *const c_void) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { self::data("syncedmem_gpu_data", mem, Access::Read, Side::Device, data.cast()) }
}

/// As `syncedmem_gpu_data`, for reading and writing. The device is then the newest side.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_mutable_gpu_data(
    mem: *mut syncedmem_t,
    data: *mut *mut c_void,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { self::data("syncedmem_mutable_gpu_data", mem, Access::Write, Side::Device, data) }
}

/// As `syncedmem_overwrite_cpu_data`, for the device data.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_overwrite_gpu_data(
    mem: *mut syncedmem_t,
    data: *mut *mut c_void,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { self::data("syncedmem_overwrite_gpu_data", mem, Access::Overwrite, Side::Device, data) }
}

/// Makes the caller's memory the host side, then the newest. The object borrows it: later copies from the device write
/// to it. An owned host block is freed; the device block stays.
///
/// Errors: `EXPORTED`.
///
/// # Safety
/// `data` is readable and writable for the object's size while the object refers to it.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_set_cpu_data(mem: *mut syncedmem_t, data: *mut c_void) -> syncedmem_status_t {
    // SAFETY: the caller guarantees `data`, and gives up the old block's pointer.
    let set = |object: &SyncedMemory| unsafe { object.set_data(Side::Host, data) };
    // SAFETY: the caller guarantees the handle.
    unsafe { with("syncedmem_set_cpu_data", mem, set) }
}

/// As `syncedmem_set_cpu_data`, for the device side: memory of any device, or managed memory.
///
/// # Safety
/// `data` is device memory of the object's size while the object refers to it.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_set_gpu_data(mem: *mut syncedmem_t, data: *mut c_void) -> syncedmem_status_t {
    // SAFETY: the caller guarantees `data`, and gives up the old block's pointer.
    let set = |object: &SyncedMemory| unsafe { object.set_data(Side::Device, data) };
    // SAFETY: the caller guarantees the handle.
    unsafe { with("syncedmem_set_gpu_data", mem, set) }
}

/// Frees the host block while the device holds the newest data.
///
/// Errors: `INVALID_STATE` (the device does not hold the newest data), `EXPORTED`.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_release_cpu(mem: *mut syncedmem_t) -> syncedmem_status_t {
    // SAFETY: the caller gives up the old block's pointer.
    let release = |object: &SyncedMemory| unsafe { object.release(Side::Host) };
    // SAFETY: the caller guarantees the handle.
    unsafe { with("syncedmem_release_cpu", mem, release) }
}

/// As `syncedmem_release_cpu`, for the device block while the host holds the newest data.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_release_gpu(mem: *mut syncedmem_t) -> syncedmem_status_t {
    // SAFETY: the caller gives up the old block's pointer.
    let release = |object: &SyncedMemory| unsafe { object.release(Side::Device) };
    // SAFETY: the caller guarantees the handle.
    unsafe { with("syncedmem_release_gpu", mem, release) }
}
