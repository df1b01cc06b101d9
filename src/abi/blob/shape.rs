//! Shapes of blobs.

use std::ffi::c_char;

use syncedmem_core::text::Text;

use super::handle::{changed, numbers, syncedmem_blob_t};
use crate::abi::arguments::{handle, out, out_number, text_out};
use crate::abi::call::entry;
use crate::abi::element::syncedmem_type_t;
use crate::abi::status::syncedmem_status_t;
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
    entry!(changed(blob), numbers(shape, axes), |blob, dims| blob.reshape(dims)?)
}

/// Writes the type of the blob's elements to `*type`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_type(
    blob: *const syncedmem_blob_t,
    r#type: *mut syncedmem_type_t,
) -> syncedmem_status_t {
    entry!(handle(blob), out_number(r#type), |blob, r#type| r#type.set(blob.element() as i32))
}

/// Writes the number of axes to `*axes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_axes(blob: *const syncedmem_blob_t, axes: *mut usize) -> syncedmem_status_t {
    entry!(handle(blob), out(axes), |blob, axes| axes.set(blob.shape().dims().len()))
}

/// Writes the dimension of an axis to `*dim`. A negative axis counts from the end: -1 is the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_shape(
    blob: *const syncedmem_blob_t,
    axis: i64,
    dim: *mut i64,
) -> syncedmem_status_t {
    entry!(handle(blob), out(dim), |blob, dim| dim.set(blob.shape().dim(axis)?))
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
    entry!(handle(blob), out(dim), |blob, dim| dim.set(blob.shape().legacy_dim(axis)?))
}

/// Writes the number of elements of an array, the product of the dimensions, to `*count`; 0 without a shape.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_count(blob: *const syncedmem_blob_t, count: *mut i64) -> syncedmem_status_t {
    entry!(handle(blob), out(count), |blob, count| count.set(blob.shape().count() as i64))
}

/// Writes the product of the dimensions of the axes from `start` up to `end`, exclusive, to `*count`; 1 for an empty range.
///
/// Errors: `INVALID_ARGUMENT` (also not 0 <= start <= end <= axes, or a product above INT_MAX).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_count_axes(
    blob: *const syncedmem_blob_t,
    start: i64,
    end: i64,
    count: *mut i64,
) -> syncedmem_status_t {
    entry!(handle(blob), out(count), |blob, count| count.set(blob.shape().count_of(start, end)?))
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
    entry!(handle(blob), out(offset), numbers(indices, length), |blob, offset, indices| offset
        .set(blob.shape().offset(indices)?))
}

/// Works as `syncedmem_blob_offset`, for four legacy indices. Each may be one past its axis, for the end of a range: compare
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
    entry!(handle(blob), out(offset), |blob, offset| offset.set(blob.shape().legacy_offset(indices)?))
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
    entry!(handle(blob), text_out(text, bytes), |blob, text| {
        let words = Text::<SYNCEDMEM_BLOB_SHAPE_STRING_BYTES>::of(format_args!("{}", blob.shape()));
        if words.as_bytes_with_nul().len() > bytes {
            let what = "text is too small; pass SYNCEDMEM_BLOB_SHAPE_STRING_BYTES bytes";
            return Err(error::Error::InvalidArgument { what }.into());
        }
        text.set(words.as_ref());
    })
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
    entry!(handle(blob), out(equals), numbers(shape, axes), |blob, equals, dims| {
        let what = "a legacy shape has four dimensions: num, channels, height and width; pass four";
        equals.set(if legacy {
            let four = dims.try_into().map_err(|_| error::Error::InvalidArgument { what })?;
            blob.shape().equals_legacy(four)
        } else {
            blob.shape().equals(dims)
        });
    })
}
