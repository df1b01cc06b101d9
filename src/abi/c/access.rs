//! Accesses to the two sides, and changes of a side's memory.

use std::ffi::c_void;

use syncedmem_core::head::{Access, Side};

use super::object::syncedmem_t;
use crate::abi::arguments::{handle, out};
use crate::abi::call::{entry, place, status};
use crate::abi::guard::guard;
use crate::abi::status::syncedmem_status_t;
use crate::error::Error;
use crate::state::fast_path;

/// The body of a function that writes an address. Data that is current needs no guard and no stack frame.
macro_rules! data {
    ($mem:ident, $data:ident, $access:expr, $side:expr) => {{
        // SAFETY: the C caller passes a live handle and a variable for the address.
        if let (Ok(object), Ok(data)) = unsafe { (handle($mem), out($data.cast())) } {
            if let Some(address) = object.ready_if(fast_path::deciding($access, $side), $side) {
                data.set(address);
                return syncedmem_status_t::SYNCEDMEM_SUCCESS;
            }
        }
        // SAFETY: the C caller passes a live handle and a variable for the address.
        unsafe { prepared(place!(), $mem, $access, $side, $data.cast()) }
    }};
}

/// This function is not inlined, because call sites are found by its frame.
///
/// # Safety
/// `mem` and `data` are the C caller's handle and variable.
#[inline(never)]
#[unsafe(link_section = "syncedmem_entry")]
unsafe fn prepared(
    place: &'static str,
    mem: *mut syncedmem_t,
    access: Access,
    side: Side,
    data: *mut *mut c_void,
) -> syncedmem_status_t {
    let prepare = || -> Result<(), Error> {
        // SAFETY: the caller of `prepared` passes the C caller's handle and variable.
        let (object, data) = unsafe { (handle(mem)?, out(data)?) };
        // Only C++ opens the device's gate, because beside a Caffe of CPU_ONLY only C may use the device.
        if side == Side::Host {
            fast_path::open(access, side);
        }
        data.set(object.data(access, side)?);
        Ok(())
    };
    status(place, guard(prepare))
}

/// Writes the address of the host data to `*data`, for reading. A first access allocates zeros; newer data is copied
/// from the device.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_cpu_data(mem: *mut syncedmem_t, data: *mut *const c_void) -> syncedmem_status_t {
    data!(mem, data, Access::Read, Side::Host)
}

/// Works as `syncedmem_cpu_data`, for reading and writing. The host is then the newest side.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_mutable_cpu_data(
    mem: *mut syncedmem_t,
    data: *mut *mut c_void,
) -> syncedmem_status_t {
    data!(mem, data, Access::Write, Side::Host)
}

/// Works as `syncedmem_mutable_cpu_data`, but neither fills nor copies: the contents are undefined, and the caller writes all
/// of them.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_overwrite_cpu_data(
    mem: *mut syncedmem_t,
    data: *mut *mut c_void,
) -> syncedmem_status_t {
    data!(mem, data, Access::Overwrite, Side::Host)
}

/// Works as `syncedmem_cpu_data`, for the device data; NULL for size 0.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_gpu_data(mem: *mut syncedmem_t, data: *mut *const c_void) -> syncedmem_status_t {
    data!(mem, data, Access::Read, Side::Device)
}

/// Works as `syncedmem_gpu_data`, for reading and writing. The device is then the newest side.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_mutable_gpu_data(
    mem: *mut syncedmem_t,
    data: *mut *mut c_void,
) -> syncedmem_status_t {
    data!(mem, data, Access::Write, Side::Device)
}

/// Works as `syncedmem_overwrite_cpu_data`, for the device data.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_overwrite_gpu_data(
    mem: *mut syncedmem_t,
    data: *mut *mut c_void,
) -> syncedmem_status_t {
    data!(mem, data, Access::Overwrite, Side::Device)
}

/// Makes the caller's memory the host side, which is then the newest. The object borrows it: later copies from the
/// device write to it. An owned host block is freed; the device block stays.
///
/// Errors: `EXPORTED`.
///
/// # Safety
/// `data` is readable and writable for the object's size while the object refers to it.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_set_cpu_data(mem: *mut syncedmem_t, data: *mut c_void) -> syncedmem_status_t {
    entry!(handle(mem), |object| {
        // SAFETY: the C caller keeps `data` valid ("Safety" above), and does not use pointers to the old block any more.
        unsafe { object.set_data(Side::Host, data) }?;
    })
}

/// Works as `syncedmem_set_cpu_data`, for the device side: memory of any device, or managed memory.
///
/// # Safety
/// `data` is device memory of the object's size while the object refers to it.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_set_gpu_data(mem: *mut syncedmem_t, data: *mut c_void) -> syncedmem_status_t {
    entry!(handle(mem), |object| {
        // SAFETY: the C caller keeps `data` valid ("Safety" above), and does not use pointers to the old block any more.
        unsafe { object.set_data(Side::Device, data) }?;
    })
}

/// Frees the host block while the device holds the newest data.
///
/// Errors: `INVALID_STATE` (the device does not hold the newest data), `EXPORTED`.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_release_cpu(mem: *mut syncedmem_t) -> syncedmem_status_t {
    entry!(handle(mem), |object| {
        // SAFETY: the C caller does not use pointers to the old block any more ("Ownership" in syncedmem.h).
        unsafe { object.release(Side::Host) }?;
    })
}

/// Declares the contents dead: frees the memory of both sides, and keeps the object. The next write begins with zeros; a read
/// before it fails. The head is then HEAD_AT_CPU. Memory that the object borrows stays the caller's.
///
/// # Safety
/// Pointers to the object's memory are not used any more.
///
/// Errors: `EXPORTED`.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_discard(mem: *mut syncedmem_t) -> syncedmem_status_t {
    entry!(handle(mem), |object| {
        // SAFETY: the C caller does not use pointers to the object's memory any more ("Safety" above).
        unsafe { object.discard() }?;
    })
}

/// Works as `syncedmem_release_cpu`, for the device block while the host holds the newest data.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_release_gpu(mem: *mut syncedmem_t) -> syncedmem_status_t {
    entry!(handle(mem), |object| {
        // SAFETY: the C caller does not use pointers to the old block any more ("Ownership" in syncedmem.h).
        unsafe { object.release(Side::Device) }?;
    })
}
