//! The items of tensors, and their memory.

use std::ffi::c_void;
use std::ptr::NonNull;

use super::tensor::{change_by, changed, read, syncedmem_tensor_t};
use super::typemeta::{optional, required};
use crate::abi::arguments::out;
use crate::abi::c::object::syncedmem_t;
use crate::abi::call::entry;
use crate::abi::status::syncedmem_status_t;
use crate::caffe2::error::Error;
use crate::caffe2::external::Foreign;
use crate::caffe2::typemeta::{syncedmem_deleter_t, syncedmem_typemeta_t};

fn pointer(data: Option<NonNull<c_void>>) -> *mut c_void {
    data.map_or(std::ptr::null_mut(), NonNull::as_ptr)
}

/// Writes the address of the items to `*data`, for reading; NULL for a tensor without items that never had memory. If
/// `meta` is not NULL, the tensor's type must be that one.
///
/// Errors: `INVALID_STATE` (no shape, or no memory yet).
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_tensor_data(
    tensor: *const syncedmem_tensor_t,
    meta: *const syncedmem_typemeta_t,
    data: *mut *const c_void,
) -> syncedmem_status_t {
    entry!(read(tensor), out(data), optional(meta), |tensor, data, meta| {
        data.set(pointer(tensor.raw_data(meta)?).cast_const());
    })
}

/// Works as `syncedmem_tensor_data`, for reading and writing, as items of `meta`; NULL is the tensor's own type. Memory is
/// kept for the same type, and for another plain one if it is large enough. Otherwise it is new: the items are lost,
/// and new ones are constructed, or on the host zeros.
///
/// Errors: `INVALID_ARGUMENT` (also items without bytes), `INVALID_STATE` (no shape, no type; the type's `construct`
/// returned false), `UNSUPPORTED` (a type with functions on the device).
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_tensor_mutable_data(
    tensor: *mut syncedmem_tensor_t,
    meta: *const syncedmem_typemeta_t,
    data: *mut *mut c_void,
) -> syncedmem_status_t {
    entry!(changed(tensor), out(data), optional(meta), |mut tensor, data, meta| {
        data.set(pointer(tensor.raw_mutable_data(meta)?));
    })
}

/// Writes the memory's `syncedmem_t` to `*mem`. It belongs to the tensors that share the memory: do not destroy or set
/// it, nor use it once they have ended or have other memory.
///
/// Errors: `INVALID_STATE` (no memory), `UNSUPPORTED` (a type with functions).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_tensor_memory(
    tensor: *const syncedmem_tensor_t,
    mem: *mut *mut syncedmem_t,
) -> syncedmem_status_t {
    entry!(read(tensor), out(mem), |tensor, mem| {
        let none = Error::State("the tensor has no memory yet; ask for its mutable data first");
        mem.set(tensor.storage().ok_or(none)?.handle()?.as_ptr().cast());
    })
}

/// Gives the tensor the type, the dimensions and a copy of the items of another one, of either side.
///
/// Errors: `INVALID_STATE` (the source has no shape, or no memory yet; a function of the type returned false),
/// `UNSUPPORTED` (the type's items cannot be copied, or not to the device), and as `syncedmem_tensor_mutable_data`.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_tensor_copy_from(
    tensor: *mut syncedmem_tensor_t,
    source: *const syncedmem_tensor_t,
) -> syncedmem_status_t {
    entry!(|| {
        // SAFETY: the C caller passes two live handles, and lets no other thread use the first.
        unsafe { change_by(tensor, source, |tensor, source| tensor.copy_from(source)) }?;
    })
}

/// Makes the tensor share the memory of another one of the same side and number of items, with its type, until a resize
/// beyond the memory or `syncedmem_tensor_free_memory`.
///
/// Errors: `INVALID_STATE` (the source has items and no memory yet).
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_tensor_share_data(
    tensor: *mut syncedmem_tensor_t,
    source: *const syncedmem_tensor_t,
) -> syncedmem_status_t {
    entry!(|| {
        // SAFETY: the C caller passes two live handles, and lets no other thread use the first.
        unsafe { change_by(tensor, source, |tensor, source| tensor.share_data(source)) }?;
    })
}

/// Makes the tensor use the caller's memory at `pointer`, on the tensor's side, with items of `meta`. `capacity` is its
/// bytes; 0 for as many as the items need. `deleter` (NULL: none) is called with `pointer` and `context` once no tensor
/// uses the memory; not after an error.
///
/// Errors: `INVALID_ARGUMENT` (also a capacity that is too small), `INVALID_STATE` (no items).
///
/// # Safety
/// The memory stays readable and writable until the deleter is called; without one, while a tensor uses it.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_tensor_share_external(
    tensor: *mut syncedmem_tensor_t,
    pointer: *mut c_void,
    meta: *const syncedmem_typemeta_t,
    capacity: usize,
    deleter: syncedmem_deleter_t,
    context: *mut c_void,
) -> syncedmem_status_t {
    entry!(changed(tensor), required(meta), |mut tensor, meta| {
        let pointer =
            NonNull::new(pointer).ok_or(Error::Argument("pointer is NULL; pass the address of the memory"))?;
        // SAFETY: the C caller keeps the memory valid until its deleter is called ("Safety" above).
        unsafe { tensor.share_external(meta, capacity, Foreign { pointer, deleter, context }) }?;
    })
}

/// Makes the tensor use the memory of a tensor of DLPack on its side, as `syncedmem_set_dlpack` borrows it, with items
/// of `meta`. The memory has the items' bytes. On success the library owns `dlpack`, and calls its deleter once no
/// tensor uses the memory.
///
/// Errors: `INVALID_ARGUMENT` (also as `syncedmem_set_dlpack`), `INVALID_STATE` (no items).
///
/// # Safety
/// `dlpack` describes its memory correctly.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_tensor_share_dlpack(
    tensor: *mut syncedmem_tensor_t,
    meta: *const syncedmem_typemeta_t,
    dlpack: *mut c_void,
    versioned: bool,
) -> syncedmem_status_t {
    entry!(changed(tensor), required(meta), |mut tensor, meta| {
        let dlpack = NonNull::new(dlpack).ok_or(Error::Argument("dlpack is NULL; pass a tensor of DLPack"))?;
        // SAFETY: the C caller passes a tensor that describes its memory ("Safety" above).
        unsafe { tensor.share_dlpack(meta, dlpack, versioned) }?;
    })
}
