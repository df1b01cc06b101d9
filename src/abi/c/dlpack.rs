//! Exchange of memory as tensors of DLPack.

use std::ffi::c_void;
use std::ptr::NonNull;

use syncedmem_core::head::Access;

use super::object::syncedmem_t;
use crate::abi::arguments::{handle, numbers, one_of, out, side};
use crate::abi::call::entry;
use crate::abi::status::syncedmem_status_t;
use crate::error::Error;
use crate::object::dlpack::{DataType, Layout};

/// A side of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum syncedmem_side_t {
    /// Memory of the CPU.
    SYNCEDMEM_HOST = 0,
    /// Memory of the GPU.
    SYNCEDMEM_DEVICE = 1,
}

/// What an access does with the data of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum syncedmem_access_t {
    /// Reads it, as `syncedmem_cpu_data`.
    SYNCEDMEM_READ = 0,
    /// Reads and writes it, as `syncedmem_mutable_cpu_data`.
    SYNCEDMEM_WRITE = 1,
    /// Writes all of it and reads nothing, as `syncedmem_overwrite_cpu_data`.
    SYNCEDMEM_OVERWRITE = 2,
}

/// Prepares a side (`syncedmem_side_t`) for an access (`syncedmem_access_t`), and writes a new DLPack tensor of its
/// memory to `*tensor`: a `DLManagedTensorVersioned *` (version 1.0), or, without `versioned`, a `DLManagedTensor *`.
///
/// An element has DLPack's `type_code` (0: signed integer, 1: unsigned, 2: IEEE float, 4: bfloat16, 5: complex, 6:
/// bool, 7 to 14: 8-bit floats) and `type_bits`. Elements are in C order, of the `ndim` dimensions at `shape`. A tensor
/// for reading is marked read-only, which requires `versioned`.
///
/// The consumer calls the tensor's deleter once, beside any other call on the object. Until then calls that would make
/// the address invalid (setting or releasing that side, `syncedmem_destruct`) give `EXPORTED`, and after
/// `syncedmem_destroy` the last tensor ends the object. An object that C++ ends must outlive its tensors.
///
/// A consumer on another stream than the legacy default one calls `syncedmem_stream_wait` before it reads, and, on a
/// stream of another context than the block's, `syncedmem_record_stream` before it deletes the tensor. A device reset
/// frees device tensors' memory.
///
/// Errors: `INVALID_ARGUMENT` (also an impossible type or shape, more bytes than the object has, borrowed device memory
/// that the driver does not know).
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_to_dlpack(
    mem: *mut syncedmem_t,
    side: i32,
    access: i32,
    type_code: u8,
    type_bits: u8,
    ndim: i32,
    shape: *const i64,
    versioned: bool,
    tensor: *mut *mut c_void,
) -> syncedmem_status_t {
    entry!(handle(mem), out(tensor), lengths(shape, ndim), |object, tensor, shape| {
        let side = self::side(side)?;
        let what = "access is not a syncedmem_access_t; pass SYNCEDMEM_READ (0), SYNCEDMEM_WRITE (1) or \
                    SYNCEDMEM_OVERWRITE (2)";
        let access = one_of(access, [Access::Read, Access::Write, Access::Overwrite], what)?;
        let layout = Layout::new(shape, DataType::new(type_code, type_bits)?, object.size()?)?;
        tensor.set(object.export(access, side, layout, versioned)?.as_ptr());
    })
}

unsafe fn lengths<'a>(shape: *const i64, ndim: i32) -> Result<&'a [i64], Error> {
    let what = "ndim is negative; pass how many numbers shape has";
    let count = usize::try_from(ndim).map_err(|_| Error::InvalidArgument { what })?;
    // SAFETY: the C caller passes `ndim` numbers.
    unsafe { numbers(shape, count, "shape is NULL or misaligned; pass the address of ndim numbers") }
}

/// Makes a tensor's memory a side of the object, which borrows it as by `syncedmem_set_cpu_data` or, on a CUDA device,
/// by `syncedmem_set_gpu_data`. `tensor` is a `DLManagedTensorVersioned *`, or, without `versioned`, a `DLManagedTensor
/// *`. The memory must be contiguous in C order, writable, and of the object's size.
///
/// On success the library owns the tensor, and calls its deleter when that side is set or released, or the object ends:
/// on that thread (for a destroyed object whose own tensors are in use, on the thread that deletes the last), without
/// locks. The deleter must order reuse of device memory after the legacy default stream, where a copy may still run. Two
/// objects that borrow from each other keep each other alive until one is set or released.
///
/// Errors: as `syncedmem_set_cpu_data`, and `INVALID_ARGUMENT` for memory other than described.
///
/// # Safety
/// The tensor describes its memory correctly. The object is ended by this library before its own memory goes.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_set_dlpack(
    mem: *mut syncedmem_t,
    tensor: *mut c_void,
    versioned: bool,
) -> syncedmem_status_t {
    entry!(handle(mem), |object| {
        let what = "tensor is NULL; pass a DLManagedTensorVersioned, or a DLManagedTensor with versioned = false";
        let tensor = NonNull::new(tensor).ok_or(Error::InvalidArgument { what })?;
        // SAFETY: the C caller passes a tensor that describes its memory, and lets this library end the object ("Safety" above).
        unsafe { object.set_tensor(tensor, versioned) }?;
    })
}

/// Writes how many tensors of the object's host side and of its device side are in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_exports(
    mem: *const syncedmem_t,
    host: *mut usize,
    device: *mut usize,
) -> syncedmem_status_t {
    entry!(handle(mem), out(host), out(device), |object, host, device| {
        let [of_host, of_device] = object.exports()?;
        host.set(of_host);
        device.set(of_device);
    })
}
