//! Handles that stand for one holder each of a tensor, a blob or a workspace.

use std::ptr::NonNull;

use super::call;
use crate::abi::status::syncedmem_status_t;
use crate::caffe2::blob::another_holder;
use crate::caffe2::error::Error;
use crate::platform::shared::Shared;

pub trait Held {
    type Counted;
    const NULL: &'static str;
}

/// # Safety
/// The handle is held while the result is used.
pub unsafe fn held<'a, H: Held>(handle: *const H) -> Result<&'a H::Counted, Error> {
    let counted = handle.cast::<H::Counted>();
    if counted.is_null() || !counted.is_aligned() {
        return Err(Error::Argument(H::NULL));
    }
    // SAFETY: the caller guarantees it.
    Ok(unsafe { &*counted })
}

pub fn handle_of<H: Held>(holder: Shared<H::Counted>) -> *mut H {
    holder.into_address().as_ptr().cast()
}

/// # Safety
/// As for [`held`].
pub unsafe fn holder_of<H: Held>(handle: *const H) -> Result<Shared<H::Counted>, Error> {
    // SAFETY: the caller guarantees it.
    let counted = unsafe { held(handle) }?;
    // SAFETY: the handle stands for a holder.
    Ok(unsafe { another_holder(NonNull::from(counted)) })
}

/// # Safety
/// As for [`held`].
#[inline(always)]
pub unsafe fn retain<H: Held>(name: &str, handle: *const H) -> syncedmem_status_t {
    call(name, || {
        // SAFETY: the caller guarantees it.
        std::mem::forget(unsafe { holder_of(handle) }?);
        Ok(())
    })
}

/// # Safety
/// As for [`held`], and this holder is not used any more.
#[inline(always)]
pub unsafe fn destroy<H: Held>(name: &str, handle: *mut H) -> syncedmem_status_t {
    call(name, || {
        if !handle.is_null() {
            // SAFETY: the caller guarantees it.
            let counted = unsafe { held(handle) }?;
            // SAFETY: the handle stands for the holder that the caller gives up.
            drop(unsafe { Shared::from_address(NonNull::from(counted)) });
        }
        Ok(())
    })
}
