//! Tensors: handles, dimensions and memory.

use super::call;
use super::held::{Held, destroy, handle_of, held, retain};
use crate::abi::arguments::{Out, answer, answer_for, numbers, side};
use crate::abi::call::run;
use crate::abi::opaque::Opaque;
use crate::abi::status::syncedmem_status_t;
use crate::caffe2::error::Error;
use crate::caffe2::handle::Handle;
use crate::caffe2::tensor::{self, Tensor};

/// A tensor.
pub struct syncedmem_tensor_t(());

/// The most dimensions of a tensor.
pub const SYNCEDMEM_TENSOR_MOST_DIMENSIONS: i32 = 64;

impl Held for syncedmem_tensor_t {
    type Counted = Handle;
    const NULL: &'static str = "a tensor is NULL or misaligned; pass a handle that syncedmem_tensor_create has written";
}

impl Opaque for syncedmem_tensor_t {
    type Value = Tensor;
    type Error = Error;

    unsafe fn value<'a>(handle: *const Self) -> Result<&'a Tensor, Error> {
        // SAFETY: the caller guarantees it.
        let handle = unsafe { held(handle) }?;
        // SAFETY: as above.
        Ok(unsafe { handle.tensor() })
    }
}

/// # Safety
/// No other thread uses the tensor.
#[inline(always)]
pub(super) unsafe fn change(
    name: &str,
    tensor: *mut syncedmem_tensor_t,
    work: impl FnOnce(&mut Tensor) -> Result<(), Error>,
) -> syncedmem_status_t {
    call(name, || {
        // SAFETY: the caller guarantees it.
        let handle = unsafe { held(tensor) }?;
        // SAFETY: as above.
        unsafe { handle.change(work) }
    })
}

/// As `change`, by a tensor that is read. Nothing is done if both are one.
///
/// # Safety
/// As for `change`; no thread changes `source`.
#[inline(always)]
pub(super) unsafe fn change_by(
    name: &str,
    tensor: *mut syncedmem_tensor_t,
    source: *const syncedmem_tensor_t,
    work: impl FnOnce(&mut Tensor, &Tensor) -> Result<(), Error>,
) -> syncedmem_status_t {
    call(name, || {
        // SAFETY: the caller guarantees it.
        let (target, source) = (unsafe { held(tensor) }?, unsafe { held(source) }?);
        if std::ptr::eq(target, source) {
            return Ok(());
        }
        // SAFETY: the caller guarantees it.
        let source = unsafe { source.tensor() };
        // SAFETY: the caller guarantees it, and they are two.
        unsafe { target.change(|target| work(target, source)) }
    })
}

/// Lends a copy of the dimensions: they may be those of the tensor that is changed.
///
/// # Safety
/// As for `numbers`.
unsafe fn with_dims<R>(ndim: i32, dims: *const i64, work: impl FnOnce(&[i64]) -> Result<R, Error>) -> Result<R, Error> {
    const FEW: usize = 8;
    const MOST: usize = SYNCEDMEM_TENSOR_MOST_DIMENSIONS as usize;
    let count = usize::try_from(ndim)
        .ok()
        .filter(|&count| count <= MOST)
        .ok_or(Error::Argument("ndim is negative or above 64; pass how many dimensions there are"))?;
    // SAFETY: the caller guarantees it.
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
    // SAFETY: the caller guarantees it.
    unsafe { answer_for("syncedmem_tensor_create", tensor, || Handle::new(self::side(side)?).map(handle_of)) }
}

/// Makes one more holder of the tensor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_tensor_retain(tensor: *mut syncedmem_tensor_t) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { retain("syncedmem_tensor_retain", tensor) }
}

/// Ends one holder; the last one ends the tensor.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_tensor_destroy(tensor: *mut syncedmem_tensor_t) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { destroy("syncedmem_tensor_destroy", tensor) }
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
    // SAFETY: the caller guarantees it.
    let resize = |tensor: &mut Tensor| unsafe { with_dims(ndim, dims, |dims| tensor.resize(dims)) };
    // SAFETY: as above.
    unsafe { change("syncedmem_tensor_resize", tensor, resize) }
}

/// As `syncedmem_tensor_resize`, with the dimensions of another tensor.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_tensor_resize_like(
    tensor: *mut syncedmem_tensor_t,
    source: *const syncedmem_tensor_t,
) -> syncedmem_status_t {
    // Compat: a source without a shape has no dimensions, and makes a scalar.
    let resize = |tensor: &mut Tensor, source: &Tensor| tensor.resize(source.dims());
    // SAFETY: the caller guarantees it.
    unsafe { change_by("syncedmem_tensor_resize_like", tensor, source, resize) }
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
    // SAFETY: the caller guarantees it.
    let reshape = |tensor: &mut Tensor| unsafe { with_dims(ndim, dims, |dims| tensor.reshape(dims)) };
    // SAFETY: as above.
    unsafe { change("syncedmem_tensor_reshape", tensor, reshape) }
}

/// Makes the first dimension smaller. Items that stay do not move.
///
/// Errors: `INVALID_ARGUMENT` (also negative, more than there are), `INVALID_STATE` (no dimensions).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_tensor_shrink(tensor: *mut syncedmem_tensor_t, outer: i64) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { change("syncedmem_tensor_shrink", tensor, |tensor| tensor.shrink(outer)) }
}

/// Makes room for the items of those dimensions, and for all that the tensor has. Items and dimensions stay, and a later
/// resize frees the memory only if it is too small. Without a type nothing is done.
///
/// Errors: as `syncedmem_tensor_resize` and `syncedmem_tensor_copy_from`.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_tensor_reserve(
    tensor: *mut syncedmem_tensor_t,
    ndim: i32,
    dims: *const i64,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    let reserve = |tensor: &mut Tensor| unsafe { with_dims(ndim, dims, |dims| tensor.reserve(dims)) };
    // SAFETY: as above.
    unsafe { change("syncedmem_tensor_reserve", tensor, reserve) }
}

/// Adds `more` to the first dimension. The items stay. Missing room is made as by `syncedmem_tensor_reserve`, for
/// `growth_percent` more than there was.
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
    // SAFETY: the caller guarantees it.
    unsafe { change("syncedmem_tensor_extend", tensor, |tensor| tensor.extend(more, growth_percent)) }
}

/// Gives the memory up; other tensors that share it keep it. Dimensions and type stay.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_tensor_free_memory(tensor: *mut syncedmem_tensor_t) -> syncedmem_status_t {
    let free = |tensor: &mut Tensor| {
        tensor.free_memory();
        Ok(())
    };
    // SAFETY: the caller guarantees it.
    unsafe { change("syncedmem_tensor_free_memory", tensor, free) }
}

/// Exchanges two tensors of the same side, all but their handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_tensor_swap(
    tensor: *mut syncedmem_tensor_t,
    other: *mut syncedmem_tensor_t,
) -> syncedmem_status_t {
    call("syncedmem_tensor_swap", || {
        // SAFETY: the caller guarantees it.
        let (one, other) = (unsafe { held(tensor) }?, unsafe { held(other) }?);
        if std::ptr::eq(one, other) {
            return Ok(());
        }
        let swap = |one: &mut Tensor| {
            // SAFETY: the caller guarantees it.
            unsafe { other.change(|other| one.swap(other)) }
        };
        // SAFETY: the caller guarantees it, and they are two.
        unsafe { one.change(swap) }
    })
}

/// Sets for the process whether a resized tensor keeps more memory than it needs, and how many unused bytes at most. At
/// first that is true, without a limit (`INT64_MAX`).
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_tensor_set_keep_on_shrink(keep: bool, most_unused_bytes: i64) -> syncedmem_status_t {
    run("syncedmem_tensor_set_keep_on_shrink", || tensor::set_keep_on_shrink(keep, most_unused_bytes))
}

/// Writes what `syncedmem_tensor_set_keep_on_shrink` has set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_tensor_get_keep_on_shrink(
    keep: *mut bool,
    most_unused_bytes: *mut i64,
) -> syncedmem_status_t {
    let in_force = || {
        // SAFETY: the caller guarantees it.
        let keep = unsafe { Out::new(keep) }?;
        let (kept, most) = tensor::keep_on_shrink();
        keep.set(kept);
        Ok(most)
    };
    // SAFETY: the caller guarantees it.
    unsafe { answer("syncedmem_tensor_get_keep_on_shrink", most_unused_bytes, in_force) }
}
