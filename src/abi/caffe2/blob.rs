//! Blobs of one value of any type.

use std::ffi::c_void;
use std::ptr::NonNull;

use super::held::{Held, handle_of, held, reference_of, taken};
use super::tensor::syncedmem_tensor_t;
use super::typemeta::{NO_META, optional, required};
use crate::abi::arguments::{optional_out, out, side};
use crate::abi::call::entry;
use crate::abi::status::syncedmem_status_t;
use crate::caffe2::blob::{Blob, Value};
use crate::caffe2::error::Error;
use crate::caffe2::typemeta::{syncedmem_deleter_t, syncedmem_typemeta_t};

/// Caffe2's `Blob`.
pub struct syncedmem_typed_blob_t(());

impl Held for syncedmem_typed_blob_t {
    type Counted = Blob;
    const NULL: &'static str =
        "a blob is NULL or misaligned; pass a handle that syncedmem_typed_blob_create or a workspace has written";
}

/// Creates an empty blob and writes its handle to `*blob`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_typed_blob_create(blob: *mut *mut syncedmem_typed_blob_t) -> syncedmem_status_t {
    entry!(out(blob), |blob| blob.set(handle_of(Blob::new()?)))
}

/// Adds a reference to the blob.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_typed_blob_retain(blob: *mut syncedmem_typed_blob_t) -> syncedmem_status_t {
    entry!(reference_of(blob), |reference| std::mem::forget(reference))
}

/// Drops a reference; the last one ends the blob and its value.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_typed_blob_destroy(blob: *mut syncedmem_typed_blob_t) -> syncedmem_status_t {
    entry!(taken(blob), |reference| drop(reference))
}

/// Writes the type of the value to `*meta`; its `id` is NULL for an empty blob.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_typed_blob_meta(
    blob: *const syncedmem_typed_blob_t,
    meta: *mut syncedmem_typemeta_t,
) -> syncedmem_status_t {
    entry!(held(blob), out(meta), |blob, meta| meta.set(blob.meta()))
}

/// Writes to `*is` whether the value is of that type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_typed_blob_is_type(
    blob: *const syncedmem_typed_blob_t,
    meta: *const syncedmem_typemeta_t,
    is: *mut bool,
) -> syncedmem_status_t {
    entry!(held(blob), out(is), required(meta), |blob, is, meta| is.set(blob.meta() == meta))
}

/// Writes the address of the value to `*value`. With `meta` the value must be of that type; without (NULL) the address
/// is NULL for an empty blob.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_typed_blob_get(
    blob: *const syncedmem_typed_blob_t,
    meta: *const syncedmem_typemeta_t,
    value: *mut *mut c_void,
) -> syncedmem_status_t {
    entry!(held(blob), out(value), optional(meta), |blob, value, meta| value.set(blob.get(meta)?))
}

/// Writes the address of a value of that type to `*value`. If the value has another type, the type makes a new one,
/// aligned to 64 bytes, and the old one ends. `is_new` may be NULL.
///
/// Errors: `INVALID_ARGUMENT` (also no type), `INVALID_STATE` (the type's `construct` returned false).
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_typed_blob_get_mutable(
    blob: *mut syncedmem_typed_blob_t,
    meta: *const syncedmem_typemeta_t,
    is_new: *mut bool,
    value: *mut *mut c_void,
) -> syncedmem_status_t {
    entry!(held(blob), required(meta), out(value), optional_out(is_new), |blob, meta, value, is_new| {
        let (pointer, made) = blob.get_mutable(meta)?;
        value.set(pointer);
        is_new.set(|| made);
    })
}

/// Gives the blob a value of the caller's, and ends the old one. `deleter` is called with `value` and `context` at the
/// end; without one (NULL) the value stays the caller's. NULL for `value` and `meta` empties the blob.
///
/// Errors: `INVALID_ARGUMENT` (also no type). Then the deleter is not called.
///
/// # Safety
/// `value` is of that type, and lives until the deleter is called or the blob has another.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_typed_blob_reset(
    blob: *mut syncedmem_typed_blob_t,
    value: *mut c_void,
    meta: *const syncedmem_typemeta_t,
    deleter: syncedmem_deleter_t,
    context: *mut c_void,
) -> syncedmem_status_t {
    entry!(held(blob), optional(meta), |blob, meta| {
        if value.is_null() && meta.is_none() {
            blob.set(Value::default());
            return Ok(());
        }
        let what = "value is NULL; pass the address of a value, or NULL for meta too to empty the blob";
        let pointer = NonNull::new(value).ok_or(Error::Argument(what))?;
        let meta = *meta.ok_or(NO_META)?;
        if meta.is_none() {
            return Err(Error::Argument("the type is none: its id is NULL; pass a type"));
        }
        blob.set(Value::given(meta, pointer, deleter, context));
    })
}

/// Makes the value the caller's, and writes its address to `*value`; NULL for an empty blob. `deleter` and `context`
/// may be NULL: they receive the function that ends the value (a `syncedmem_deleter_t`, or NULL) and its context. The
/// blob still refers to the value. One of `syncedmem_typed_blob_get_mutable` is ended by its type's `destruct`, then
/// `free()`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_typed_blob_release(
    blob: *mut syncedmem_typed_blob_t,
    value: *mut *mut c_void,
    deleter: *mut *mut c_void,
    context: *mut *mut c_void,
) -> syncedmem_status_t {
    entry!(held(blob), out(value), optional_out(deleter), optional_out(context), |blob, value, deleter, context| {
        let (pointer, its_deleter, its_context) = blob.release();
        value.set(pointer);
        deleter.set(|| its_deleter.map_or(std::ptr::null_mut(), |deleter| deleter as *mut c_void));
        context.set(|| its_context);
    })
}

/// Exchanges the values of two blobs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_typed_blob_swap(
    blob: *mut syncedmem_typed_blob_t,
    other: *mut syncedmem_typed_blob_t,
) -> syncedmem_status_t {
    entry!(held(blob), held(other), |blob, other| blob.swap(other))
}

/// Writes a handle of the tensor that is the value, of either side, to `*tensor`.
///
/// Errors: `INVALID_ARGUMENT` (also another type, or no value), `INVALID_STATE` (NULL in its place).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_typed_blob_get_tensor(
    blob: *const syncedmem_typed_blob_t,
    tensor: *mut *mut syncedmem_tensor_t,
) -> syncedmem_status_t {
    entry!(held(blob), out(tensor), |blob, tensor| tensor.set(handle_of(blob.tensor()?)))
}

/// Works as `syncedmem_typed_blob_get_tensor`, for a tensor of that side (`syncedmem_side_t`). If the value is no such tensor,
/// the blob gets a new one, and the old value ends. `is_new` may be NULL.
///
/// Errors: `INVALID_STATE` (no memory for the tensor; NULL in its place).
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_typed_blob_get_mutable_tensor(
    blob: *mut syncedmem_typed_blob_t,
    side: i32,
    is_new: *mut bool,
    tensor: *mut *mut syncedmem_tensor_t,
) -> syncedmem_status_t {
    entry!(held(blob), out(tensor), optional_out(is_new), |blob, tensor, is_new| {
        let (reference, made) = blob.mutable_tensor(self::side(side)?)?;
        tensor.set(handle_of(reference));
        is_new.set(|| made);
    })
}

/// Makes a tensor the value: the blob has a reference to it, and the old value ends.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_typed_blob_set_tensor(
    blob: *mut syncedmem_typed_blob_t,
    tensor: *mut syncedmem_tensor_t,
) -> syncedmem_status_t {
    entry!(held(blob), reference_of(tensor), |blob, tensor| blob.set(Value::tensor(tensor)?))
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
        attached.set(blob.attachment().attach(pointer, deleter, context));
    })
}
