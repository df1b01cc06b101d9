//! Shapes.

use std::ffi::c_char;
use std::ptr::NonNull;

use syncedmem_trace::text::Text;

use super::handle::{change, numbers, syncedmem_blob_t};
use crate::abi::element::syncedmem_type_t;
use crate::abi::opaque::{ask, with};
use crate::abi::status::syncedmem_status_t;
use crate::blob::Blob;
use crate::error;

/// The most axes of a blob.
pub const SYNCEDMEM_BLOB_MAX_AXES: usize = 32;
/// Bytes for the text of any shape.
pub const SYNCEDMEM_BLOB_SHAPE_STRING_BYTES: usize = 384;

const _: () = assert!(SYNCEDMEM_BLOB_MAX_AXES == crate::blob::shape::MOST_AXES);
// Each dimension has at most 10 digits and a space; the count is in brackets, and NUL follows.
const _: () = assert!(SYNCEDMEM_BLOB_SHAPE_STRING_BYTES > SYNCEDMEM_BLOB_MAX_AXES * 11 + 12);

/// Gives the blob the `axes` dimensions at `shape`. Without axes the count is 1. An array keeps its memory with the
/// contents if that is large enough (`syncedmem_blob_capacity`), or else gets new memory.
///
/// Errors: `INVALID_ARGUMENT` (also more than `SYNCEDMEM_BLOB_MAX_AXES` axes, a negative dimension, or a count above
/// INT_MAX).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_reshape(
    blob: *mut syncedmem_blob_t,
    axes: usize,
    shape: *const i64,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    let dims = || unsafe { numbers(shape, axes) };
    // SAFETY: as above.
    unsafe { change("syncedmem_blob_reshape", blob, |blob| blob.reshape(dims()?)) }
}

/// Writes the type of the blob's elements to `*type`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_type(
    blob: *const syncedmem_blob_t,
    r#type: *mut syncedmem_type_t,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { ask("syncedmem_blob_type", blob, r#type.cast(), |blob| Ok(blob.element() as i32)) }
}

/// Writes the number of axes to `*axes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_axes(blob: *const syncedmem_blob_t, axes: *mut usize) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { ask("syncedmem_blob_axes", blob, axes, |blob| Ok(blob.shape().dims().len())) }
}

/// Writes the dimension of an axis to `*dim`. A negative axis counts from the end: -1 is the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_shape(
    blob: *const syncedmem_blob_t,
    axis: i64,
    dim: *mut i64,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { ask("syncedmem_blob_shape", blob, dim, |blob| blob.shape().dim(axis)) }
}

/// Writes the dimension of a legacy axis to `*dim`: 0 is num, 1 channels, 2 height, 3 width, and -4 to -1 the same from
/// the end. Missing ones are 1.
///
/// Errors: `INVALID_ARGUMENT` (also another axis, or a blob of more than four).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_legacy_shape(
    blob: *const syncedmem_blob_t,
    axis: i64,
    dim: *mut i64,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { ask("syncedmem_blob_legacy_shape", blob, dim, |blob| blob.shape().legacy_dim(axis)) }
}

/// Writes the number of elements of an array, the product of the dimensions, to `*count`; 0 without a shape.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_count(blob: *const syncedmem_blob_t, count: *mut i64) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { ask("syncedmem_blob_count", blob, count, |blob| Ok(blob.shape().count() as i64)) }
}

/// Writes the product of the dimensions of the axes from `start` up to `end`, exclusive, to `*count`; 1 of none.
///
/// Errors: `INVALID_ARGUMENT` (also not 0 <= start <= end <= axes, or a product above INT_MAX).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_count_axes(
    blob: *const syncedmem_blob_t,
    start: i64,
    end: i64,
    count: *mut i64,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { ask("syncedmem_blob_count_axes", blob, count, |blob| blob.shape().count_of(start, end)) }
}

/// Writes the place of an element among the count to `*offset`. `indices` has one index for each axis; missing ones at
/// the end are 0.
///
/// Errors: `INVALID_ARGUMENT` (also too many indices, or an index outside of its axis).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_offset(
    blob: *const syncedmem_blob_t,
    length: usize,
    indices: *const i64,
    offset: *mut i64,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    let indices = || unsafe { numbers(indices, length) };
    // SAFETY: as above.
    unsafe { ask("syncedmem_blob_offset", blob, offset, |blob| blob.shape().offset(indices()?)) }
}

/// As `syncedmem_blob_offset`, of four legacy indices. Each may be one past its axis, for the end of a range: compare
/// the offset with the count before you read.
///
/// Errors: `INVALID_ARGUMENT` (also more than four axes, an index outside of that, or an offset above INT_MAX).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_legacy_offset(
    blob: *const syncedmem_blob_t,
    num: i64,
    channels: i64,
    height: i64,
    width: i64,
    offset: *mut i64,
) -> syncedmem_status_t {
    let indices = [num, channels, height, width];
    // SAFETY: the caller guarantees it.
    unsafe { ask("syncedmem_blob_legacy_offset", blob, offset, |blob| blob.shape().legacy_offset(indices)) }
}

/// Writes the shape to `text` as Caffe does, such as `2 3 (6)`, with NUL at its end.
///
/// Errors: `INVALID_ARGUMENT` (also `bytes` is too small; `SYNCEDMEM_BLOB_SHAPE_STRING_BYTES` are always enough).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_shape_string(
    blob: *const syncedmem_blob_t,
    text: *mut c_char,
    bytes: usize,
) -> syncedmem_status_t {
    let write = |blob: &Blob| {
        let words = Text::<SYNCEDMEM_BLOB_SHAPE_STRING_BYTES>::of(format_args!("{}", blob.shape()));
        let words = words.as_bytes_with_nul();
        let text = NonNull::new(text).filter(|_| words.len() <= bytes).ok_or(error::Error::InvalidArgument {
            what: "text is NULL or too small; pass SYNCEDMEM_BLOB_SHAPE_STRING_BYTES bytes",
        })?;
        // SAFETY: the caller guarantees `bytes` of them.
        unsafe { text.as_ptr().copy_from_nonoverlapping(words.as_ptr().cast(), words.len()) };
        Ok(())
    };
    // SAFETY: the caller guarantees it.
    unsafe { with("syncedmem_blob_shape_string", blob, write) }
}

/// Writes to `*equals` whether the blob has the `axes` dimensions at `shape`. With `legacy` they are an old file's num,
/// channels, height and width, compared from the end: a bias of N is 1, 1, 1, N there.
///
/// Errors: `INVALID_ARGUMENT` (also `legacy` with another number of axes than four).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_shape_equals(
    blob: *const syncedmem_blob_t,
    axes: usize,
    shape: *const i64,
    legacy: bool,
    equals: *mut bool,
) -> syncedmem_status_t {
    let equals_shape = |blob: &Blob| {
        // SAFETY: the caller guarantees it.
        let dims = unsafe { numbers(shape, axes) }?;
        if !legacy {
            return Ok(blob.shape().equals(dims));
        }
        let four = dims.try_into().map_err(|_| error::Error::InvalidArgument {
            what: "a legacy shape has four dimensions: num, channels, height and width; pass four",
        })?;
        Ok(blob.shape().equals_legacy(four))
    };
    // SAFETY: the caller guarantees it.
    unsafe { ask("syncedmem_blob_shape_equals", blob, equals, equals_shape) }
}
