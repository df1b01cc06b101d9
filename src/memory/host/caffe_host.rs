//! `CaffeMallocHost` and `CaffeFreeHost`, for Caffe's own memory, not objects'.
#![expect(unsafe_code, reason = "memory is freed here")]

use std::ffi::c_void;
use std::ptr::NonNull;

use syncedmem_core::head::Side;

use super::{HostMemory, aligned, check_size, out_of_memory, pinned, wants_pinned};
use crate::error::{Cause, Error};
use crate::settings;

/// In GPU mode page-locked memory, which `cudaFreeHost` takes, else memory that `free()` takes. The contents are undefined.
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

/// `CaffeMallocHost` before rc3: memory that `free()` takes, in every mode.
pub fn malloc_pageable(bytes: usize) -> Result<HostMemory, Error> {
    check_size(bytes, Side::Host)?;
    match aligned(bytes) {
        // Compat: the original's block of 0 bytes is non-null too, and `free()` takes it.
        Some(address) => Ok(HostMemory { address, owned: true, pinned: false }),
        None => Err(out_of_memory(bytes, Cause::System)),
    }
}

/// # Safety
/// `address` is NULL, or came from [`malloc`], `malloc()` or `cudaMallocHost()`, is page-locked if `pinned`, and is not used
/// again.
pub unsafe fn free(address: *mut c_void, pinned: bool) -> Result<(), Error> {
    let Some(address) = NonNull::new(address) else { return Ok(()) };
    if pinned {
        // SAFETY: the caller guarantees it.
        return unsafe { pinned::caffe_free(address) };
    }
    // SAFETY: the caller guarantees it.
    unsafe { libc::free(address.as_ptr()) };
    Ok(())
}
