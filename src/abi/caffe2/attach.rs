//! Attachments: for bindings that have an object of their own for a tensor or a blob.

use std::ffi::c_void;
use std::ptr::NonNull;

use super::blob::syncedmem_typed_blob_t;
use super::held::held;
use super::tensor::syncedmem_tensor_t;
use crate::abi::arguments::Out;
use crate::abi::call::call_for;
use crate::abi::status::syncedmem_status_t;
use crate::caffe2::attachment::Attachment;
use crate::caffe2::error::Error;
use crate::caffe2::external::Lent;
use crate::caffe2::typemeta::syncedmem_deleter_t;

/// # Safety
/// As for `syncedmem_tensor_attach`.
unsafe fn attach<'a>(
    name: &str,
    holder: impl FnOnce() -> Result<&'a Attachment, Error>,
    (pointer, deleter, context): (*mut c_void, syncedmem_deleter_t, *mut c_void),
    attached: *mut *mut c_void,
) -> syncedmem_status_t {
    call_for(name, || {
        let attachment = holder()?;
        // SAFETY: the caller guarantees it.
        let out = unsafe { Out::new(attached) }?;
        let there = attachment.get();
        out.set(match NonNull::new(pointer) {
            Some(pointer) if there.is_null() => attachment.attach(Lent { pointer, deleter, context })?,
            _ => there,
        });
        Ok::<(), Error>(())
    })
}

/// Attaches `pointer` to the tensor, unless something is attached, and writes what is attached to `*attached`: a place
/// for the one object that a binding has for a tensor (`syncedmem.hpp` keeps a tensor's dimensions there). If that is
/// `pointer`, the library calls `deleter` (NULL: none) with it and `context` when the tensor ends; otherwise it stays
/// the caller's. NULL for `pointer` only asks, and writes NULL if nothing is attached. Any thread that may read the
/// tensor may call this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_tensor_attach(
    tensor: *const syncedmem_tensor_t,
    pointer: *mut c_void,
    deleter: syncedmem_deleter_t,
    context: *mut c_void,
    attached: *mut *mut c_void,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    let holder = || Ok(unsafe { held(tensor) }?.attachment());
    // SAFETY: the caller guarantees it.
    unsafe { attach("syncedmem_tensor_attach", holder, (pointer, deleter, context), attached) }
}

/// As `syncedmem_tensor_attach`, for a blob.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_typed_blob_attach(
    blob: *const syncedmem_typed_blob_t,
    pointer: *mut c_void,
    deleter: syncedmem_deleter_t,
    context: *mut c_void,
    attached: *mut *mut c_void,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    let holder = || Ok(unsafe { held(blob) }?.attachment());
    // SAFETY: the caller guarantees it.
    unsafe { attach("syncedmem_typed_blob_attach", holder, (pointer, deleter, context), attached) }
}
