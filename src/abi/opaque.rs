//! The opaque types of the C API, whose addresses are its handles.
#![expect(unsafe_code, reason = "what handles lead to")]

use super::arguments::Out;
use super::call::{Failure, call_for};
use super::status::syncedmem_status_t;

pub trait Opaque {
    type Value;
    type Error: Failure;

    /// # Safety
    /// No thread ends or changes the value while the result is used.
    unsafe fn value<'a>(handle: *const Self) -> Result<&'a Self::Value, Self::Error>;
}

/// # Safety
/// As for [`Opaque::value`].
// Inlined as `call` is.
#[inline(always)]
pub unsafe fn with<H: Opaque>(
    name: &str,
    handle: *const H,
    work: impl FnOnce(&H::Value) -> Result<(), H::Error>,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    call_for(name, || work(unsafe { H::value(handle) }?))
}

/// As `with`, and writes what `question` returns to `*out`.
///
/// # Safety
/// As for [`Opaque::value`].
#[inline(always)]
pub unsafe fn ask<H: Opaque, T>(
    name: &str,
    handle: *const H,
    out: *mut T,
    question: impl FnOnce(&H::Value) -> Result<T, H::Error>,
) -> syncedmem_status_t {
    let write = |value: &H::Value| {
        // SAFETY: the caller guarantees it.
        let out = unsafe { Out::new(out) }?;
        out.set(question(value)?);
        Ok(())
    };
    // SAFETY: the caller guarantees it.
    unsafe { with(name, handle, write) }
}
