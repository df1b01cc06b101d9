//! Tensors: handles, dimensions and memory.

use std::ffi::c_void;

use super::held::{Held, handle_of, held, reference_of, taken};
use crate::abi::arguments::{numbers, out, side};
use crate::abi::call::entry;
use crate::abi::status::syncedmem_status_t;
use crate::caffe2::error::Error;
use crate::caffe2::handle::{Changing, Handle};
use crate::caffe2::tensor::{self, Tensor};
use crate::caffe2::typemeta::syncedmem_deleter_t;

/// A tensor.
pub struct syncedmem_tensor_t(());

/// The most dimensions of a tensor.
pub const SYNCEDMEM_TENSOR_MOST_DIMENSIONS: i32 = 64;

impl Held for syncedmem_tensor_t {
    type Counted = Handle;
    const NULL: &'static str = "a tensor is NULL or misaligned; pass a handle that syncedmem_tensor_create has written";
}

/// The tensor of a handle, for reading.
pub(super) unsafe fn read<'a>(tensor: *const syncedmem_tensor_t) -> Result<&'a Tensor, Error> {
    // SAFETY: the C caller passes a live handle, and lets no thread change the tensor during the call.
    Ok(unsafe { held(tensor)?.tensor() })
}

/// The tensor of a handle, for a change.
pub(super) unsafe fn changed<'a>(tensor: *mut syncedmem_tensor_t) -> Result<Changing<'a>, Error> {
    // SAFETY: the C caller passes a live handle that no other thread uses ("Threads" in syncedmem_caffe2.h).
    Ok(unsafe { held(tensor)?.change() })
}

/// Changes a tensor by another, which is read. Does nothing if both are the same.
pub(super) unsafe fn change_by(
    tensor: *mut syncedmem_tensor_t,
    source: *const syncedmem_tensor_t,
    work: impl FnOnce(&mut Tensor, &Tensor) -> Result<(), Error>,
) -> Result<(), Error> {
    // SAFETY: the C caller passes two live handles.
    let (target, source) = unsafe { (held(tensor)?, held(source)?) };
    if std::ptr::eq(target, source) {
        return Ok(());
    }
    // SAFETY: the tensors differ; the C caller lets no other thread use the first, and none change the other.
    unsafe { work(&mut target.change(), source.tensor()) }
}

/// Calls `work` with a copy of the dimensions, which may be those of the tensor that is changed.
unsafe fn with_dims<R>(ndim: i32, dims: *const i64, work: impl FnOnce(&[i64]) -> Result<R, Error>) -> Result<R, Error> {
    const FEW: usize = 8;
    const MOST: usize = SYNCEDMEM_TENSOR_MOST_DIMENSIONS as usize;
    let count = usize::try_from(ndim)
        .ok()
        .filter(|&count| count <= MOST)
        .ok_or(Error::Argument("ndim is negative or above 64; pass how many dimensions there are"))?;
    // SAFETY: the C caller passes `ndim` numbers.
    let dims = unsafe { numbers(dims, count, "dims is NULL or misaligned; pass the address of ndim numbers") }?;
    let (mut few, mut many);
    let copy: &mut [i64] = if count <= FEW {
        few = [0; FEW];
        &mut few
    } else {
        many = [0; MOST];
        &mut many
    };
    let copy = &mut copy[..count];
    copy.copy_from_slice(dims);
    work(copy)
}

/// Creates a tensor of a side (`syncedmem_side_t`) without shape, type and memory, and writes its handle to `*tensor`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_tensor_create(
    side: i32,
    tensor: *mut *mut syncedmem_tensor_t,
) -> syncedmem_status_t {
    entry!(out(tensor), |tensor| tensor.set(handle_of(Handle::new(self::side(side)?)?)))
}

/// Adds a reference to the tensor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_tensor_retain(tensor: *mut syncedmem_tensor_t) -> syncedmem_status_t {
    entry!(reference_of(tensor), |reference| std::mem::forget(reference))
}

/// Drops a reference; the last one ends the tensor.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_tensor_destroy(tensor: *mut syncedmem_tensor_t) -> syncedmem_status_t {
    entry!(taken(tensor), |reference| drop(reference))
}

/// Gives the tensor other dimensions; without any it is a scalar, of one item. If the number of items changes, memory
/// is freed that is too small, or that `syncedmem_tensor_set_keep_on_shrink` does not keep; the next mutable data
/// allocates it.
///
/// Errors: `INVALID_ARGUMENT` (also a negative dimension, too many items).
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_tensor_resize(
    tensor: *mut syncedmem_tensor_t,
    ndim: i32,
    dims: *const i64,
) -> syncedmem_status_t {
    entry!(changed(tensor), |mut tensor| {
        // SAFETY: the C caller passes `ndim` dimensions.
        unsafe { with_dims(ndim, dims, |dims| tensor.resize(dims)) }?;
    })
}

/// Works as `syncedmem_tensor_resize`, with the dimensions of another tensor.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_tensor_resize_like(
    tensor: *mut syncedmem_tensor_t,
    source: *const syncedmem_tensor_t,
) -> syncedmem_status_t {
    entry!(|| {
        // Compat: a source without a shape has no dimensions, and makes a scalar.
        // SAFETY: the C caller passes two live handles, and lets no other thread use the first.
        unsafe { change_by(tensor, source, |tensor, source| tensor.resize(source.dims())) }?;
    })
}

/// Gives the tensor other dimensions of as many items, which stay.
///
/// Errors: as `syncedmem_tensor_resize`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_tensor_reshape(
    tensor: *mut syncedmem_tensor_t,
    ndim: i32,
    dims: *const i64,
) -> syncedmem_status_t {
    entry!(changed(tensor), |mut tensor| {
        // SAFETY: the C caller passes `ndim` dimensions.
        unsafe { with_dims(ndim, dims, |dims| tensor.reshape(dims)) }?;
    })
}

/// Makes the first dimension smaller. Items that stay do not move.
///
/// Errors: `INVALID_ARGUMENT` (also negative, more than there are), `INVALID_STATE` (no dimensions).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_tensor_shrink(tensor: *mut syncedmem_tensor_t, outer: i64) -> syncedmem_status_t {
    entry!(changed(tensor), |mut tensor| tensor.shrink(outer)?)
}

/// Allocates memory for the items of those dimensions, and at least for those that the tensor has. Items and dimensions
/// stay, and a later resize frees the memory only if it is too small. Does nothing without a type.
///
/// Errors: as `syncedmem_tensor_resize` and `syncedmem_tensor_copy_from`.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_tensor_reserve(
    tensor: *mut syncedmem_tensor_t,
    ndim: i32,
    dims: *const i64,
) -> syncedmem_status_t {
    entry!(changed(tensor), |mut tensor| {
        // SAFETY: the C caller passes `ndim` dimensions.
        unsafe { with_dims(ndim, dims, |dims| tensor.reserve(dims)) }?;
    })
}

/// Adds `more` to the first dimension. The items stay. Memory that is too small is replaced as by
/// `syncedmem_tensor_reserve`, for at least `growth_percent` more than the first dimension was.
///
/// Errors: `INVALID_ARGUMENT` (also negative, too many items), `INVALID_STATE` (no dimensions), and as
/// `syncedmem_tensor_reserve`.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_tensor_extend(
    tensor: *mut syncedmem_tensor_t,
    more: i64,
    growth_percent: f64,
) -> syncedmem_status_t {
    entry!(changed(tensor), |mut tensor| tensor.extend(more, growth_percent)?)
}

/// Releases the memory; other tensors that share it keep it. Dimensions and type stay.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_tensor_free_memory(tensor: *mut syncedmem_tensor_t) -> syncedmem_status_t {
    entry!(changed(tensor), |mut tensor| tensor.free_memory())
}

/// Exchanges two tensors of the same side, all but their handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_tensor_swap(
    tensor: *mut syncedmem_tensor_t,
    other: *mut syncedmem_tensor_t,
) -> syncedmem_status_t {
    entry!(held(tensor), held(other), |one, other| {
        if !std::ptr::eq(one, other) {
            // SAFETY: the tensors differ; the C caller lets no other thread use them.
            unsafe { one.change().swap(&mut other.change()) }?;
        }
    })
}

/// Sets for the process whether a resized tensor keeps more memory than it needs, and how many unused bytes at most. The
/// default is true, without a limit (`INT64_MAX`).
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_tensor_set_keep_on_shrink(keep: bool, most_unused_bytes: i64) -> syncedmem_status_t {
    entry!(|| tensor::set_keep_on_shrink(keep, most_unused_bytes))
}

/// Writes what `syncedmem_tensor_set_keep_on_shrink` has set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_tensor_get_keep_on_shrink(
    keep: *mut bool,
    most_unused_bytes: *mut i64,
) -> syncedmem_status_t {
    entry!(out(keep), out(most_unused_bytes), |keep, most_unused_bytes| {
        let (kept, most) = tensor::keep_on_shrink();
        keep.set(kept);
        most_unused_bytes.set(most);
    })
}

/// Attaches `pointer` to the tensor, unless something is attached, and writes what is attached to `*attached`. If that
/// is `pointer`, `deleter` (NULL: none) is called with it and `context` when the tensor ends; otherwise it stays the
/// caller's. With NULL for `pointer` nothing is attached, and NULL is written if nothing was. A binding keeps its one
/// object for a tensor there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_tensor_attach(
    tensor: *const syncedmem_tensor_t,
    pointer: *mut c_void,
    deleter: syncedmem_deleter_t,
    context: *mut c_void,
    attached: *mut *mut c_void,
) -> syncedmem_status_t {
    entry!(out(attached), held(tensor), |attached, tensor| {
        attached.set(tensor.attachment().attach(pointer, deleter, context));
    })
}
