//! Types of items and of values.

use crate::abi::arguments::{out, side};
use crate::abi::call::entry;
use crate::abi::element::element_type;
use crate::abi::status::syncedmem_status_t;
use crate::caffe2::error::Error;
use crate::caffe2::handle;
use crate::caffe2::typemeta::TypeMeta;
pub use crate::caffe2::typemeta::{syncedmem_deleter_t, syncedmem_typemeta_t};

pub(super) const NO_META: Error =
    Error::Argument("meta is NULL; pass the address of a type, such as one that syncedmem_typemeta has written");

pub(super) unsafe fn optional<'a>(meta: *const syncedmem_typemeta_t) -> Result<Option<&'a TypeMeta>, Error> {
    if !meta.is_null() && !meta.is_aligned() {
        return Err(Error::Argument("meta is misaligned; pass the address of a syncedmem_typemeta_t"));
    }
    // SAFETY: the C caller passes a type or NULL, and keeps it during the call.
    Ok(unsafe { meta.as_ref() })
}

pub(super) unsafe fn required(meta: *const syncedmem_typemeta_t) -> Result<TypeMeta, Error> {
    // SAFETY: the C caller passes a type or NULL, and keeps it during the call.
    unsafe { optional(meta) }?.copied().ok_or(NO_META)
}

/// Writes the type of a `syncedmem_type_t` to `*meta`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_typemeta(element: i32, meta: *mut syncedmem_typemeta_t) -> syncedmem_status_t {
    entry!(out(meta), |meta| meta.set(TypeMeta::of(element_type(element)?)))
}

/// Writes the `syncedmem_type_t` of a type to `*element`.
///
/// Errors: `UNSUPPORTED` (it is no built-in type).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_typemeta_element(
    meta: *const syncedmem_typemeta_t,
    element: *mut i32,
) -> syncedmem_status_t {
    entry!(out(element), required(meta), |element, meta| {
        let what = "the type is none of syncedmem_type_t; use its functions, or the library that made it";
        element.set(meta.element().ok_or(Error::Unsupported(what))? as i32);
    })
}

/// Writes the type of a blob's value that is a tensor of that side to `*meta`. Such a value is the address of a
/// `syncedmem_tensor_t *`, which has a reference to the tensor; a caller may take that over, and leaves NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_tensor_typemeta(side: i32, meta: *mut syncedmem_typemeta_t) -> syncedmem_status_t {
    entry!(out(meta), |meta| meta.set(handle::meta(self::side(side)?)))
}
