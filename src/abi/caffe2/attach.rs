//! A binding's own object for a tensor or a blob.

use std::ffi::c_void;
use std::ptr::NonNull;

use super::blob::syncedmem_typed_blob_t;
use super::held::held;
use super::tensor::syncedmem_tensor_t;
use crate::abi::arguments::out;
use crate::abi::call::entry;
use crate::abi::status::syncedmem_status_t;
use crate::caffe2::attachment::Attachment;
use crate::caffe2::external::Foreign;
use crate::caffe2::typemeta::syncedmem_deleter_t;

fn attach(
    attachment: &Attachment,
    pointer: *mut c_void,
    deleter: syncedmem_deleter_t,
    context: *mut c_void,
) -> *mut c_void {
    match NonNull::new(pointer) {
        Some(pointer) => attachment.attach(Foreign { pointer, deleter, context }),
        None => attachment.get(),
    }
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
        attached.set(attach(tensor.attachment(), pointer, deleter, context));
    })
}

/// Works as `syncedmem_tensor_attach`, for a blob.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_typed_blob_attach(
    blob: *const syncedmem_typed_blob_t,
    pointer: *mut c_void,
    deleter: syncedmem_deleter_t,
    context: *mut c_void,
    attached: *mut *mut c_void,
) -> syncedmem_status_t {
    entry!(out(attached), held(blob), |attached, blob| {
        attached.set(attach(blob.attachment(), pointer, deleter, context));
    })
}
