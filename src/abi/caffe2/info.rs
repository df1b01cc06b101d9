//! Queries of tensors.

use std::ffi::c_char;

use syncedmem_core::text::Text;

use super::tensor::{read, syncedmem_tensor_t};
use super::typemeta::required;
use crate::abi::arguments::{out, text_out};
use crate::abi::call::entry;
use crate::abi::status::syncedmem_status_t;
use crate::caffe2::shape;
use crate::caffe2::typemeta::syncedmem_typemeta_t;

/// A tensor. This structure never grows.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct syncedmem_tensor_info_t {
    /// The type; its `id` is NULL before the first mutable data.
    pub meta: syncedmem_typemeta_t,
    /// Valid until the dimensions change.
    pub dims: *const i64,
    /// A number that differs after each change of the dimensions.
    pub changes: u64,
    /// Number of items; -1 without a shape.
    pub size: i64,
    /// Bytes of the items.
    pub nbytes: usize,
    /// Bytes of the memory.
    pub capacity_nbytes: usize,
    /// Number of dimensions.
    pub ndim: i32,
    /// A `syncedmem_side_t`.
    pub side: i32,
    /// Whether the memory came from another tensor or from the caller.
    pub shares_data: bool,
}

/// Writes to `*info` what the tensor is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_tensor_info(
    tensor: *const syncedmem_tensor_t,
    info: *mut syncedmem_tensor_info_t,
) -> syncedmem_status_t {
    entry!(read(tensor), out(info), |tensor, info| {
        info.set(syncedmem_tensor_info_t {
            meta: *tensor.meta(),
            dims: tensor.dims().as_ptr(),
            changes: tensor.changes(),
            size: tensor.count(),
            nbytes: tensor.nbytes(),
            capacity_nbytes: tensor.capacity(),
            // A tensor has at most SYNCEDMEM_TENSOR_MOST_DIMENSIONS dimensions.
            ndim: tensor.dims().len() as i32,
            side: tensor.side() as i32,
            shares_data: tensor.shares_data(),
        });
    })
}

/// Writes to `*is` whether the tensor is of that type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_tensor_is_type(
    tensor: *const syncedmem_tensor_t,
    meta: *const syncedmem_typemeta_t,
    is: *mut bool,
) -> syncedmem_status_t {
    entry!(read(tensor), out(is), required(meta), |tensor, is, meta| is.set(*tensor.meta() == meta))
}

/// Writes the dimension of an axis, counted from 0, to `*dim`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_tensor_dim(
    tensor: *const syncedmem_tensor_t,
    axis: i32,
    dim: *mut i64,
) -> syncedmem_status_t {
    entry!(read(tensor), out(dim), |tensor, dim| dim.set(shape::dim(tensor.dims(), axis)?))
}

/// Works as `syncedmem_tensor_dim`, in 32 bits.
///
/// Errors: `INVALID_STATE` (the dimension is larger).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_tensor_dim32(
    tensor: *const syncedmem_tensor_t,
    axis: i32,
    dim: *mut i32,
) -> syncedmem_status_t {
    entry!(read(tensor), out(dim), |tensor, dim| dim.set(shape::dim32(tensor.dims(), axis)?))
}

/// Writes the product of the dimensions from `axis` on to `*size`; 1 for an axis after the last one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_tensor_size_from_dim(
    tensor: *const syncedmem_tensor_t,
    axis: i32,
    size: *mut i64,
) -> syncedmem_status_t {
    entry!(read(tensor), out(size), |tensor, size| size.set(shape::size_from(tensor.dims(), axis)?))
}

/// Writes the product of the dimensions before `axis` to `*size`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_tensor_size_to_dim(
    tensor: *const syncedmem_tensor_t,
    axis: i32,
    size: *mut i64,
) -> syncedmem_status_t {
    entry!(read(tensor), out(size), |tensor, size| size.set(shape::size_to(tensor.dims(), axis)?))
}

/// Writes the product of the dimensions between two axes in either order, without theirs, to `*size`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_tensor_size_between_dim(
    tensor: *const syncedmem_tensor_t,
    axis: i32,
    other: i32,
    size: *mut i64,
) -> syncedmem_status_t {
    entry!(read(tensor), out(size), |tensor, size| size.set(shape::size_between(tensor.dims(), axis, other)?))
}

/// Writes the number of an axis from the start to `*canonical`; a negative `axis` counts from the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_tensor_canonical_axis_index(
    tensor: *const syncedmem_tensor_t,
    axis: i32,
    canonical: *mut i32,
) -> syncedmem_status_t {
    entry!(read(tensor), out(canonical), |tensor, canonical| canonical.set(shape::canonical_axis(tensor.dims(), axis)?))
}

/// Writes a line about the tensor, as `syncedmem_report` writes its text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_tensor_debug_string(
    tensor: *const syncedmem_tensor_t,
    text: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> syncedmem_status_t {
    entry!(read(tensor), text_out(text, capacity), out(length), |tensor, text, length| {
        length.set(text.set(Text::<2048>::of(format_args!("{tensor}")).as_ref()));
    })
}
