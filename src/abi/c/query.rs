//! What an object's blocks are.
#![expect(unsafe_code, reason = "C functions")]

use std::ffi::c_int;

use super::object::{ask, syncedmem_t};
use crate::abi::status::syncedmem_status_t;
use crate::object::SyncedMemory;
use crate::state::head::Side;

/// Writes the ordinal of the device that holds the object's device block to `*ordinal`; -1 if it has none, or the
/// driver does not know the memory that was given with `syncedmem_set_gpu_data`.
///
/// Errors: `INVALID_ARGUMENT`, `INVALID_HANDLE`.
///
/// # Safety
/// `mem` is NULL or a handle; `ordinal` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_device_ordinal(mem: *const syncedmem_t, ordinal: *mut c_int) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe {
        ask("syncedmem_device_ordinal", mem, ordinal, |object| {
            object.device_ordinal().map(|ordinal| ordinal.unwrap_or(-1))
        })
    }
}

/// Writes to `*pinned` whether the object has host memory that this library page-locked: a block that was made so, or memory
/// of `syncedmem_pin`.
///
/// Errors: `INVALID_ARGUMENT`, `INVALID_HANDLE`.
///
/// # Safety
/// `mem` is NULL or a handle; `pinned` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_is_pinned(mem: *const syncedmem_t, pinned: *mut bool) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { ask("syncedmem_is_pinned", mem, pinned, SyncedMemory::is_pinned) }
}

/// Writes to `*owns` whether the object has a host block that it frees: not one that was given with
/// `syncedmem_set_cpu_data`, nor, for size 0, the address that stands for no bytes.
///
/// Errors: `INVALID_ARGUMENT`, `INVALID_HANDLE`.
///
/// # Safety
/// `mem` is NULL or a handle; `owns` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_owns_cpu(mem: *const syncedmem_t, owns: *mut bool) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { ask("syncedmem_owns_cpu", mem, owns, |object| object.owns(Side::Host)) }
}

/// Writes to `*owns` whether the object has a device block that it frees: not one that was given with
/// `syncedmem_set_gpu_data`.
///
/// Errors: `INVALID_ARGUMENT`, `INVALID_HANDLE`.
///
/// # Safety
/// `mem` is NULL or a handle; `owns` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_owns_gpu(mem: *const syncedmem_t, owns: *mut bool) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { ask("syncedmem_owns_gpu", mem, owns, |object| object.owns(Side::Device)) }
}
