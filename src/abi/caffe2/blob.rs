//! Blobs of one value of any type.

use std::ffi::c_void;
use std::ptr::NonNull;

use super::held::{Held, destroy, handle_of, held, holder_of, retain};
use super::tensor::syncedmem_tensor_t;
use super::typemeta::{optional, required};
use crate::abi::arguments::{OptionalOut, Out, answer_for, side};
use crate::abi::opaque::{Opaque, ask, with};
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

impl Opaque for syncedmem_typed_blob_t {
    type Value = Blob;
    type Error = Error;

    unsafe fn value<'a>(handle: *const Self) -> Result<&'a Blob, Error> {
        // SAFETY: the caller guarantees it.
        unsafe { held(handle) }
    }
}

/// Creates an empty blob and writes its handle to `*blob`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_typed_blob_create(blob: *mut *mut syncedmem_typed_blob_t) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { answer_for("syncedmem_typed_blob_create", blob, || Blob::new().map(handle_of)) }
}

/// Makes one more holder of the blob.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_typed_blob_retain(blob: *mut syncedmem_typed_blob_t) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { retain("syncedmem_typed_blob_retain", blob) }
}

/// Ends one holder; the last one ends the blob and its value.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_typed_blob_destroy(blob: *mut syncedmem_typed_blob_t) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { destroy("syncedmem_typed_blob_destroy", blob) }
}

/// Writes the type of the value to `*meta`; its `id` is NULL for an empty blob.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_typed_blob_meta(
    blob: *const syncedmem_typed_blob_t,
    meta: *mut syncedmem_typemeta_t,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { ask("syncedmem_typed_blob_meta", blob, meta, |blob| Ok(blob.meta())) }
}

/// Writes to `*is` whether the value is of that type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_typed_blob_is_type(
    blob: *const syncedmem_typed_blob_t,
    meta: *const syncedmem_typemeta_t,
    is: *mut bool,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    let same = |blob: &Blob| Ok(blob.meta() == unsafe { required(meta) }?);
    // SAFETY: as above.
    unsafe { ask("syncedmem_typed_blob_is_type", blob, is, same) }
}

/// Writes the address of the value to `*value`. With `meta` the value must be of that type; without (NULL) the address
/// is NULL for an empty blob.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_typed_blob_get(
    blob: *const syncedmem_typed_blob_t,
    meta: *const syncedmem_typemeta_t,
    value: *mut *mut c_void,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    let get = |blob: &Blob| blob.get(unsafe { optional(meta) }?);
    // SAFETY: as above.
    unsafe { ask("syncedmem_typed_blob_get", blob, value, get) }
}

/// Writes the address of a value of that type to `*value`. Unless there is one, the type makes a new one, aligned to 64
/// bytes, and the old one ends. `is_new` may be NULL.
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
    let get = |blob: &Blob| {
        // SAFETY: the caller guarantees it.
        let (meta, out) = (unsafe { required(meta) }?, unsafe { Out::new(value) }?);
        // SAFETY: as above.
        let new = unsafe { OptionalOut::new(is_new) }?;
        let (pointer, made) = blob.get_mutable(meta)?;
        out.set(pointer);
        new.set(|| made);
        Ok(())
    };
    // SAFETY: the caller guarantees it.
    unsafe { with("syncedmem_typed_blob_get_mutable", blob, get) }
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
    let reset = |blob: &Blob| {
        if value.is_null() && meta.is_null() {
            blob.set(Value::default());
            return Ok(());
        }
        let pointer = NonNull::new(value).ok_or(Error::Argument(
            "value is NULL; pass the address of a value, or NULL for meta too to empty the blob",
        ))?;
        // SAFETY: the caller guarantees it.
        let meta = unsafe { required(meta) }?;
        if meta.is_none() {
            return Err(Error::Argument("the type is none: its id is NULL; pass a type"));
        }
        blob.set(Value::given(meta, pointer, deleter, context));
        Ok(())
    };
    // SAFETY: the caller guarantees it.
    unsafe { with("syncedmem_typed_blob_reset", blob, reset) }
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
    let release = |blob: &Blob| {
        // SAFETY: the caller guarantees it.
        let (out, end) = (unsafe { Out::new(value) }?, unsafe { OptionalOut::new(deleter) }?);
        // SAFETY: as above.
        let its = unsafe { OptionalOut::new(context) }?;
        let (pointer, ends, with) = blob.release();
        out.set(pointer);
        end.set(|| ends.map_or(std::ptr::null_mut(), |ends| ends as *mut c_void));
        its.set(|| with);
        Ok(())
    };
    // SAFETY: the caller guarantees it.
    unsafe { with("syncedmem_typed_blob_release", blob, release) }
}

/// Exchanges the values of two blobs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_typed_blob_swap(
    blob: *mut syncedmem_typed_blob_t,
    other: *mut syncedmem_typed_blob_t,
) -> syncedmem_status_t {
    let swap = |one: &Blob| {
        // SAFETY: the caller guarantees it.
        one.swap(unsafe { held(other) }?);
        Ok(())
    };
    // SAFETY: as above.
    unsafe { with("syncedmem_typed_blob_swap", blob, swap) }
}

/// Writes a handle of the tensor that is the value, of either side, to `*tensor`.
///
/// Errors: `INVALID_ARGUMENT` (also another type, or no value), `INVALID_STATE` (NULL in its place).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_typed_blob_get_tensor(
    blob: *const syncedmem_typed_blob_t,
    tensor: *mut *mut syncedmem_tensor_t,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { ask("syncedmem_typed_blob_get_tensor", blob, tensor, |blob| blob.tensor().map(handle_of)) }
}

/// As `syncedmem_typed_blob_get_tensor`, of a tensor of that side (`syncedmem_side_t`). Unless the value is one, the
/// blob gets a new one, and the old value ends. `is_new` may be NULL.
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
    let get = |blob: &Blob| {
        // SAFETY: the caller guarantees it.
        let (out, new) = (unsafe { Out::new(tensor) }?, unsafe { OptionalOut::new(is_new) }?);
        let (holder, made) = blob.mutable_tensor(self::side(side)?)?;
        out.set(handle_of(holder));
        new.set(|| made);
        Ok(())
    };
    // SAFETY: the caller guarantees it.
    unsafe { with("syncedmem_typed_blob_get_mutable_tensor", blob, get) }
}

/// Makes a tensor the value: the blob holds it too, and ends the old value.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_typed_blob_set_tensor(
    blob: *mut syncedmem_typed_blob_t,
    tensor: *mut syncedmem_tensor_t,
) -> syncedmem_status_t {
    let set = |blob: &Blob| {
        // SAFETY: the caller guarantees it.
        blob.set(Value::tensor(unsafe { holder_of(tensor) }?)?);
        Ok(())
    };
    // SAFETY: as above.
    unsafe { with("syncedmem_typed_blob_set_tensor", blob, set) }
}
