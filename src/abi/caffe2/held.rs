//! Handles of tensors, blobs and workspaces: each stands for one reference.

use std::ptr::NonNull;

use crate::caffe2::blob::another_reference;
use crate::caffe2::error::Error;
use crate::platform::fallible_arc::FallibleArc;

pub trait Held {
    type Counted;
    const NULL: &'static str;
}

pub unsafe fn held<'a, H: Held>(handle: *const H) -> Result<&'a H::Counted, Error> {
    let counted = handle.cast::<H::Counted>();
    if counted.is_null() || !counted.is_aligned() {
        return Err(Error::Argument(H::NULL));
    }
    // SAFETY: the C caller passes a live handle, and keeps its reference while the result is used.
    Ok(unsafe { &*counted })
}

pub fn handle_of<H: Held>(reference: FallibleArc<H::Counted>) -> *mut H {
    reference.into_address().as_ptr().cast()
}

/// Adds a reference.
pub unsafe fn reference_of<H: Held>(handle: *const H) -> Result<FallibleArc<H::Counted>, Error> {
    // SAFETY: the C caller passes a live handle, which stands for a reference.
    Ok(unsafe { another_reference(NonNull::from(held(handle)?)) })
}

/// Takes over the C caller's reference; `None` for NULL.
pub unsafe fn taken<H: Held>(handle: *mut H) -> Result<Option<FallibleArc<H::Counted>>, Error> {
    // SAFETY: the C caller passes a live handle or NULL, and does not use its reference any more.
    Ok(if handle.is_null() { None } else { Some(unsafe { FallibleArc::from_address(NonNull::from(held(handle)?)) }) })
}
