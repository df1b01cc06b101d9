//! Queries of an object's blocks.

use std::ffi::c_int;

use syncedmem_core::head::Side;

use super::object::syncedmem_t;
use crate::abi::arguments::{handle, out};
use crate::abi::call::entry;
use crate::abi::status::syncedmem_status_t;

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
