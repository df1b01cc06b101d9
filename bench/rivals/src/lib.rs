//! malloc, calloc and free of other allocators, under names of their own, so that `malloc` stays the process's; and what
//! another library has in SyncedMemory's place.

use std::ffi::c_void;

mod coaster_tensor;

/// # Safety
/// As `malloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mimalloc_allocate(bytes: usize) -> *mut c_void {
    // SAFETY: any size may be asked for.
    unsafe { libmimalloc_sys::mi_malloc(bytes) }
}

/// # Safety
/// As `calloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mimalloc_allocate_zeroed(bytes: usize) -> *mut c_void {
    // SAFETY: any size may be asked for.
    unsafe { libmimalloc_sys::mi_zalloc(bytes) }
}

/// # Safety
/// As `free`, for a block of the two above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mimalloc_free(block: *mut c_void) {
    // SAFETY: the caller's block is mimalloc's.
    unsafe { libmimalloc_sys::mi_free(block) }
}

/// # Safety
/// As `malloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jemalloc_allocate(bytes: usize) -> *mut c_void {
    // SAFETY: any size may be asked for.
    unsafe { tikv_jemalloc_sys::malloc(bytes) }
}

/// # Safety
/// As `calloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jemalloc_allocate_zeroed(bytes: usize) -> *mut c_void {
    // SAFETY: any size may be asked for.
    unsafe { tikv_jemalloc_sys::calloc(1, bytes) }
}

/// # Safety
/// As `free`, for a block of the two above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jemalloc_free(block: *mut c_void) {
    // SAFETY: the caller's block is jemalloc's.
    unsafe { tikv_jemalloc_sys::free(block) }
}
