//! Exchange with other libraries by DLPack.
#![expect(unsafe_code, reason = "C functions")]

use std::ffi::c_void;
use std::ptr::NonNull;

use super::call;
use super::object::{object, syncedmem_t, with};
use super::pointers::Out;
use crate::abi::status::syncedmem_status_t;
use crate::error::Error;
use crate::object::SyncedMemory;
use crate::object::dlpack::{DataType, Layout};
use crate::state::head::{Access, Side};

/// One of the two sides of an object.
#[expect(non_camel_case_types, reason = "the names of the C API")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum syncedmem_side_t {
    /// Memory of the CPU.
    SYNCEDMEM_HOST = 0,
    /// Memory of the GPU.
    SYNCEDMEM_DEVICE = 1,
}

/// What is done with the data of a side.
#[expect(non_camel_case_types, reason = "the names of the C API")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum syncedmem_access_t {
    /// It is read: as `syncedmem_cpu_data` and `syncedmem_gpu_data`.
    SYNCEDMEM_READ = 0,
    /// It is read and written: as `syncedmem_mutable_cpu_data` and `syncedmem_mutable_gpu_data`.
    SYNCEDMEM_WRITE = 1,
    /// All of it is written, none of it read: as `syncedmem_overwrite_cpu_data` and `syncedmem_overwrite_gpu_data`.
    SYNCEDMEM_OVERWRITE = 2,
}

fn side_of(number: i32) -> Result<Side, Error> {
    match number {
        0 => Ok(Side::Host),
        1 => Ok(Side::Device),
        _ => Err(Error::InvalidArgument {
            what: "side is not a syncedmem_side_t; pass SYNCEDMEM_HOST (0) or SYNCEDMEM_DEVICE (1)",
        }),
    }
}

fn access_of(number: i32) -> Result<Access, Error> {
    match number {
        0 => Ok(Access::Read),
        1 => Ok(Access::Write),
        2 => Ok(Access::Overwrite),
        _ => Err(Error::InvalidArgument {
            what: "access is not a syncedmem_access_t; pass SYNCEDMEM_READ (0), SYNCEDMEM_WRITE (1) or \
                   SYNCEDMEM_OVERWRITE (2)",
        }),
    }
}

/// Makes a side of the object ready for an access, and writes a tensor of its memory to `*tensor`, for a library that knows
/// DLPack: a new `DLManagedTensorVersioned *` (of version 1.0), or, where `versioned` is false, a `DLManagedTensor *`, as
/// consumers from before DLPack 1.0 want it. Nothing is copied but what the access itself needs.
///
/// `side` is a `syncedmem_side_t`, `access` a `syncedmem_access_t`; the head moves as that access moves it, now, whatever
/// is done with the tensor later. The elements have DLPack's `type_code` (0: signed integer, 1: unsigned, 2: IEEE float,
/// 4: bfloat16, 5: complex, 6: bool, 7 to 14: floats of 8 bits) and `type_bits` bits, and lie in C's order, `shape[0]` to
/// `shape[ndim - 1]`; together they take no more bytes than the object has. A tensor for reading is marked as read-only,
/// which one without a version cannot be.
///
/// The consumer calls the tensor's deleter, once: on any thread, at any time, beside any other call on the object. Until
/// then the address is valid: what would void it (setting or releasing that side, `syncedmem_destruct`, a first mark by
/// `syncedmem_set_evictable`) is refused with `EXPORTED`, and an object that `syncedmem_destroy` was called for ends with its
/// last tensor. An object that neither function ends (one that C++ made) must outlive its tensors. To an evictable
/// object a tensor is an open access, which its deleter ends.
///
/// For whoever reads a device tensor on another stream than the legacy default one there is `syncedmem_stream_wait`; for whoever
/// may delete it before such a stream is done, where `syncedmem_set_reuse` is told that an event is enough,
/// `syncedmem_record_stream`. A reset of the device takes the memory of device tensors with it.
///
/// Errors: as the access, `OUT_OF_MEMORY`, and `INVALID_ARGUMENT` (NULL, another number, a type or shape that cannot be, more
/// bytes than the object has, reading without a version, borrowed device memory that the driver does not know): then nothing has
/// changed.
///
/// # Safety
/// `mem` is NULL or a handle; `shape` is readable for `ndim` numbers; `tensor` is NULL or writable.
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
    call("syncedmem_to_dlpack", || {
        // SAFETY: the caller guarantees it.
        let object = unsafe { object(mem) }?;
        // SAFETY: the caller guarantees it.
        let out = unsafe { Out::new(tensor) }?;
        let (side, access) = (side_of(side)?, access_of(access)?);
        let data_type = DataType::new(type_code, type_bits)?;
        // SAFETY: the caller guarantees it.
        let shape = unsafe { numbers(shape, ndim) }?;
        let layout = Layout::new(shape, data_type, object.size()?)?;
        out.set(object.export(access, side, layout, versioned)?.as_ptr());
        Ok(())
    })
}

/// # Safety
/// `shape` is NULL, misaligned, or readable for `ndim` numbers.
unsafe fn numbers<'a>(shape: *const i64, ndim: i32) -> Result<&'a [i64], Error> {
    match usize::try_from(ndim) {
        Ok(0) => Ok(&[]),
        Ok(count) if !shape.is_null() && shape.is_aligned() => {
            // SAFETY: the caller guarantees it.
            Ok(unsafe { std::slice::from_raw_parts(shape, count) })
        }
        Ok(_) => Err(Error::InvalidArgument { what: "shape is NULL or misaligned; pass the address of ndim numbers" }),
        Err(_) => Err(Error::InvalidArgument { what: "ndim is negative; pass how many numbers shape has" }),
    }
}

/// Lends a tensor's memory to the object, whose side of it is the newest afterwards: as `syncedmem_set_cpu_data` where it is on
/// the CPU, as `syncedmem_set_gpu_data` where it is on a CUDA device. `tensor` is a `DLManagedTensorVersioned *`, or, where
/// `versioned` is false, a `DLManagedTensor *`.
///
/// On success the tensor is the library's: its deleter is called once the object does not refer to that memory any more
/// (that side was set or released, or the object ended), on the thread that did so, or, where a destroyed object waited for its
/// own tensors, on the one that deleted the last of them. The library holds nothing meanwhile: a deleter may call it, and take its
/// time. Whoever hands device memory on there does so behind the legacy default stream, where a copy of the library's to it may
/// not be done yet. On an error the tensor stays the caller's.
///
/// Objects to which tensors of each other are lent keep each other, until one of them lets go.
///
/// The memory must be contiguous in C's order, writable, since a copy from the other side writes to it, and of the object's
/// size.
///
/// Errors: as `syncedmem_set_cpu_data` and `syncedmem_set_gpu_data`, and `INVALID_ARGUMENT` (NULL, and what was just said),
/// `EXPORTED` (tensors of that side are in use).
///
/// # Safety
/// `mem` is NULL or a handle; `tensor` is NULL or a tensor of that kind whose memory is as it says. The object is ended by
/// this library before its own memory goes. The pointer to an owned block of that side is not used any more.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_set_dlpack(
    mem: *mut syncedmem_t,
    tensor: *mut c_void,
    versioned: bool,
) -> syncedmem_status_t {
    let set = |object: &SyncedMemory| {
        let what = "tensor is NULL; pass a DLManagedTensorVersioned, or a DLManagedTensor with versioned = false";
        let tensor = NonNull::new(tensor).ok_or(Error::InvalidArgument { what })?;
        // SAFETY: the caller guarantees it, of the tensor.
        unsafe { object.set_tensor(tensor, versioned) }
    };
    // SAFETY: the caller guarantees it, of the handle.
    unsafe { with("syncedmem_set_dlpack", mem, set) }
}

/// Writes how many tensors of the object's host side and of its device side (`syncedmem_to_dlpack`) are in use.
///
/// Errors: `INVALID_ARGUMENT` (NULL or misaligned), `INVALID_HANDLE`.
///
/// # Safety
/// `mem` is NULL or a handle; `host` and `device` are NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_exports(
    mem: *const syncedmem_t,
    host: *mut usize,
    device: *mut usize,
) -> syncedmem_status_t {
    call("syncedmem_exports", || {
        // SAFETY: the caller guarantees it.
        let object = unsafe { object(mem) }?;
        // SAFETY: the caller guarantees it.
        let hosts = unsafe { Out::new(host) }?;
        // SAFETY: the caller guarantees it.
        let devices = unsafe { Out::new(device) }?;
        let [of_host, of_device] = object.exports()?;
        hosts.set(of_host);
        devices.set(of_device);
        Ok(())
    })
}
