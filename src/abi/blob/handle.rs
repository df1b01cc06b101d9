//! Handles: construction and destruction, and the arguments of the other functions.
#![expect(unsafe_code, reason = "C functions")]

use syncedmem_trace::head::Side;

use crate::abi::arguments::{Out, one_of};
use crate::abi::call::call_for;
use crate::abi::element::element_type;
use crate::abi::status::syncedmem_status_t;
use crate::blob::error::Error;
use crate::blob::{Blob, Which};
use crate::error;

/// A blob.
#[expect(non_camel_case_types, reason = "the name of the C API")]
#[derive(Debug)]
pub struct syncedmem_blob_t(Blob);

/// The array of that number.
pub(super) fn which(number: i32) -> Result<Which, Error> {
    let what = "the array is no number of syncedmem_array_t; pass SYNCEDMEM_DATA or SYNCEDMEM_DIFF";
    Ok(one_of(number, [Which::Data, Which::Diff], what)?)
}

/// The blob of a handle.
///
/// # Safety
/// A handle that is neither NULL nor misaligned is that of a blob, which no thread changes meanwhile.
pub(in crate::abi) unsafe fn blob<'a>(handle: *const syncedmem_blob_t) -> Result<&'a Blob, Error> {
    check(handle)?;
    // SAFETY: the caller guarantees it.
    Ok(unsafe { &(*handle).0 })
}

/// The blob of a handle, to be changed.
///
/// # Safety
/// A handle that is neither NULL nor misaligned is that of a blob, which no other thread uses meanwhile.
pub(in crate::abi) unsafe fn blob_mut<'a>(handle: *mut syncedmem_blob_t) -> Result<&'a mut Blob, Error> {
    check(handle)?;
    // SAFETY: the caller guarantees it.
    Ok(unsafe { &mut (*handle).0 })
}

fn check(handle: *const syncedmem_blob_t) -> Result<(), error::Error> {
    if handle.is_null() || !handle.is_aligned() {
        return Err(error::Error::InvalidArgument {
            what: "the blob is NULL or misaligned; pass a handle from syncedmem_blob_create",
        });
    }
    Ok(())
}

/// Writes what `question` returns for the blob to `*out`, for the C function `name`.
///
/// # Safety
/// As for [`blob`]; `out` is NULL or writable.
pub(super) unsafe fn ask<T>(
    name: &str,
    handle: *const syncedmem_blob_t,
    out: *mut T,
    question: impl FnOnce(&Blob) -> Result<T, Error>,
) -> syncedmem_status_t {
    call_for(name, || {
        // SAFETY: the caller guarantees it.
        let blob = unsafe { blob(handle) }?;
        // SAFETY: the caller guarantees it.
        let out = unsafe { Out::new(out) }?;
        out.set(question(blob)?);
        Ok::<_, Error>(())
    })
}

/// Runs `change` on the blob, for the C function `name`.
///
/// # Safety
/// As for [`blob_mut`].
pub(super) unsafe fn change(
    name: &str,
    handle: *mut syncedmem_blob_t,
    change: impl FnOnce(&mut Blob) -> Result<(), Error>,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    call_for(name, || change(unsafe { blob_mut(handle) }?))
}

/// The `length` numbers at `first`, which may be NULL if there are none.
///
/// # Safety
/// `first` is NULL, misaligned, or that of so many numbers.
pub(super) unsafe fn numbers<'a>(first: *const i64, length: usize) -> Result<&'a [i64], Error> {
    match length {
        0 => Ok(&[]),
        _ if first.is_null() || !first.is_aligned() => Err(error::Error::InvalidArgument {
            what: "the numbers are NULL or misaligned; pass the address of as many int64_t as their count says",
        }
        .into()),
        // SAFETY: the caller guarantees it.
        _ => Ok(unsafe { std::slice::from_raw_parts(first, length) }),
    }
}

/// Creates a blob without a shape, as Caffe's default constructor does, and writes its handle to `*blob`. It has no memory
/// until `syncedmem_blob_reshape`. `type` is a `syncedmem_type_t`: `SYNCEDMEM_FLOAT32`, `SYNCEDMEM_FLOAT64`,
/// `SYNCEDMEM_INT32` or `SYNCEDMEM_UINT32`.
///
/// Errors: `INVALID_ARGUMENT` (`blob` is NULL, or `type` is no number of its enumeration), `UNSUPPORTED` (another type),
/// `OUT_OF_MEMORY`.
///
/// # Safety
/// `blob` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_create(r#type: i32, blob: *mut *mut syncedmem_blob_t) -> syncedmem_status_t {
    call_for("syncedmem_blob_create", || {
        // SAFETY: the caller guarantees it.
        let out = unsafe { Out::new(blob) }?;
        let new = syncedmem_blob_t(Blob::new(element_type(r#type)?)?);
        // As a vector, because a box aborts where memory runs out.
        let mut storage = Vec::new();
        storage.try_reserve_exact(1).map_err(|_| error::Error::OutOfMemory {
            side: Side::Host,
            asked: size_of::<syncedmem_blob_t>(),
            cause: error::Cause::Bookkeeping,
        })?;
        storage.push(new);
        out.set(Box::into_raw(storage.into_boxed_slice()).cast());
        Ok::<_, Error>(())
    })
}

/// Destroys a blob. NULL is allowed and does nothing. Memory that it shares stays with the other blobs.
///
/// Errors: `INVALID_ARGUMENT` (misaligned).
///
/// # Safety
/// `blob` is NULL or came from `syncedmem_blob_create`, and is not used any more, nor what it lent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_destroy(blob: *mut syncedmem_blob_t) -> syncedmem_status_t {
    call_for("syncedmem_blob_destroy", || {
        if blob.is_null() {
            return Ok(());
        }
        check(blob)?;
        // SAFETY: `syncedmem_blob_create` made it, as a slice of one.
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(blob, 1)) });
        Ok::<_, Error>(())
    })
}
