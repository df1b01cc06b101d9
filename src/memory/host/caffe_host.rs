//! `CaffeMallocHost` and `CaffeFreeHost`, for memory that Caffe's code uses outside of objects.
#![expect(unsafe_code, reason = "memory is freed here")]

use std::ffi::c_void;
use std::ptr::NonNull;

use syncedmem_core::head::Side;

use super::{HostMemory, aligned, check_size, out_of_memory, pinned, wants_pinned};
use crate::error::{Cause, Error};
use crate::settings;

/// Allocates undefined bytes: page-locked memory in GPU mode, which `cudaFreeHost` takes, else memory that `free()` takes.
pub fn malloc(bytes: usize) -> Result<HostMemory, Error> {
    settings::read_host_settings();
    check_size(bytes, Side::Host)?;
    if bytes > 0 && wants_pinned(bytes) {
        if let Some(address) = pinned::caffe_malloc(bytes) {
            return Ok(HostMemory { address, owned: true, pinned: true });
        }
    }
    malloc_pageable(bytes)
}

/// `CaffeMallocHost` of Caffe before rc3: allocates memory that `free()` takes, in every mode.
pub fn malloc_pageable(bytes: usize) -> Result<HostMemory, Error> {
    check_size(bytes, Side::Host)?;
    match aligned(bytes) {
        // Compat: the original's block of 0 bytes is non-null too, and `free()` takes it.
        Some(address) => Ok(HostMemory { address, owned: true, pinned: false }),
        None => Err(out_of_memory(bytes, Cause::System)),
    }
}

/// # Safety
/// Given up: `address` is NULL, or came from [`malloc`], `malloc()` or `cudaMallocHost()`. It is page-locked if `pinned` says so, and is
/// not used again.
pub unsafe fn free(address: *mut c_void, pinned: bool) -> Result<(), Error> {
    let Some(address) = NonNull::new(address) else { return Ok(()) };
    if pinned {
        // SAFETY: the caller of this function guarantees Given up.
        return unsafe { pinned::caffe_free(address) };
    }
    // SAFETY: the caller of this function guarantees Given up.
    unsafe { libc::free(address.as_ptr()) };
    Ok(())
}
