//! Handles that stand for one holder each of a tensor, a blob or a workspace.

use std::ptr::NonNull;

use crate::caffe2::blob::another_holder;
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
    // SAFETY: the caller guarantees a handle, which is held while the result is used.
    Ok(unsafe { &*counted })
}

pub fn handle_of<H: Held>(holder: FallibleArc<H::Counted>) -> *mut H {
    holder.into_address().as_ptr().cast()
}

/// One more holder.
pub unsafe fn holder_of<H: Held>(handle: *const H) -> Result<FallibleArc<H::Counted>, Error> {
    // SAFETY: the caller guarantees the handle, which stands for a holder.
    Ok(unsafe { another_holder(NonNull::from(held(handle)?)) })
}

/// The holder that the handle stands for, which the caller gives up; `None` for NULL.
pub unsafe fn given_up<H: Held>(handle: *mut H) -> Result<Option<FallibleArc<H::Counted>>, Error> {
    // SAFETY: the caller guarantees the handle.
    Ok(if handle.is_null() { None } else { Some(unsafe { FallibleArc::from_address(NonNull::from(held(handle)?)) }) })
}
