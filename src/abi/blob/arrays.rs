//! The memory of a blob's arrays.

use std::ffi::c_void;

use syncedmem_core::head::Side;

use super::handle::{changed, syncedmem_blob_t};
use crate::abi::arguments::{handle, out};
use crate::abi::c::object::syncedmem_t;
use crate::abi::call::entry;
use crate::abi::element::part;
use crate::abi::status::syncedmem_status_t;
use crate::object::owner::Shared;

/// Writes the size of an array's memory to `*bytes`; 0 without a shape.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_capacity(
    blob: *const syncedmem_blob_t,
    array: i32,
    bytes: *mut usize,
) -> syncedmem_status_t {
    entry!(handle(blob), out(bytes), |blob, bytes| bytes.set(blob.capacity(part(array)?)?))
}

/// Writes the memory of an array to `*mem`. It stays the blob's (see "Ownership" above). It may be larger than the array,
/// whose elements come first.
///
/// Errors: `INVALID_STATE` (the blob has no shape).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_memory(
    blob: *const syncedmem_blob_t,
    array: i32,
    mem: *mut *mut syncedmem_t,
) -> syncedmem_status_t {
    entry!(handle(blob), out(mem), |blob, mem| mem.set(blob.memory(part(array)?)?.as_ptr().cast()))
}

/// Works as `syncedmem_blob_memory`, and makes the caller an owner too, until `syncedmem_blob_release_memory`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_hold_memory(
    blob: *const syncedmem_blob_t,
    array: i32,
    mem: *mut *mut syncedmem_t,
) -> syncedmem_status_t {
    entry!(handle(blob), out(mem), |blob, mem| mem.set(blob.memory(part(array)?)?.clone().into_raw().cast()))
}

/// Ends one ownership of `syncedmem_blob_hold_memory`, on any thread. The memory ends with its last owner. NULL does
/// nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_release_memory(mem: *mut syncedmem_t) -> syncedmem_status_t {
    entry!(|| {
        if !mem.is_null() {
            // SAFETY: the C caller passes a live handle.
            let memory = unsafe { handle(mem) }?;
            memory.head()?;
            // SAFETY: the C caller is an owner by `syncedmem_blob_hold_memory`, and ends that ownership by this call.
            drop(unsafe { Shared::from_raw(memory) });
        }
    })
}

/// Borrows the caller's memory as the host side of an array, which is then the newest. Memory of another size than the
/// count's is replaced first, and no longer shared.
///
/// Errors: `INVALID_ARGUMENT` (also an address that is no multiple of the element's size), `INVALID_STATE` (the blob
/// has no shape), `EXPORTED` (tensors of memory that stays are in use).
///
/// # Safety
/// `data` is readable and writable for all elements while the blob refers to it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_set_cpu_data(
    blob: *mut syncedmem_blob_t,
    array: i32,
    data: *mut c_void,
) -> syncedmem_status_t {
    entry!(changed(blob), |blob| {
        // SAFETY: the C caller keeps `data` valid as long as the blob refers to it ("Safety" above).
        unsafe { blob.set(part(array)?, Side::Host, data) }?;
    })
}

/// Works as `syncedmem_blob_set_cpu_data`, for the device side.
///
/// # Safety
/// `data` is device memory of all elements while the blob refers to it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_set_gpu_data(
    blob: *mut syncedmem_blob_t,
    array: i32,
    data: *mut c_void,
) -> syncedmem_status_t {
    entry!(changed(blob), |blob| {
        // SAFETY: the C caller keeps `data` valid as long as the blob refers to it ("Safety" above).
        unsafe { blob.set(part(array)?, Side::Device, data) }?;
    })
}

/// Makes `blob` share the memory of `other`'s array, for the same array, until one of the two gets other memory.
///
/// Errors: `INVALID_ARGUMENT` (also other counts or types), `INVALID_STATE` (`other` has no shape).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_share(
    blob: *mut syncedmem_blob_t,
    array: i32,
    other: *const syncedmem_blob_t,
) -> syncedmem_status_t {
    entry!(|| {
        let array = part(array)?;
        // SAFETY: the C caller passes two live handles, maybe the same: this reference ends before the next one begins.
        let source = unsafe { handle(other) }?.source(array)?;
        // SAFETY: the C caller passes a live handle that no other thread uses; no other reference to the blob is left.
        unsafe { changed(blob) }?.share(array, source)?;
    })
}

/// Copies the elements of `source`'s array to the same array of `blob`, on the side where they are; if on both, on the
/// device. An array that was never touched counts as zeros. With `reshape` the blob takes the shape of `source`.
///
/// Errors: `INVALID_ARGUMENT` (also other types; other shapes without `reshape`), `INVALID_STATE` (`source` has no
/// shape). After `DRIVER` and `PENDING` the elements may be lost.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_copy_from(
    blob: *mut syncedmem_blob_t,
    array: i32,
    source: *const syncedmem_blob_t,
    reshape: bool,
) -> syncedmem_status_t {
    entry!(|| {
        let array = part(array)?;
        // SAFETY: the C caller passes two live handles, maybe the same: this reference ends before the next one begins.
        let source = unsafe { handle(source) }?.source(array)?;
        // SAFETY: the C caller passes a live handle that no other thread uses; no other reference to the blob is left.
        unsafe { changed(blob) }?.copy_from(array, &source, reshape)?;
    })
}

/// Writes the address of the dimensions in device memory, one `int` for each axis, to `*shape`; NULL without axes. It
/// is valid until the shape changes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_gpu_shape(
    blob: *const syncedmem_blob_t,
    shape: *mut *const c_void,
) -> syncedmem_status_t {
    entry!(handle(blob), out(shape), |blob, shape| shape.set(blob.gpu_shape()?))
}
