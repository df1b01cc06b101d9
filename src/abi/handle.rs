//! Handles of blobs and models: the addresses of values in storage from malloc. With the feature `checked` the storage is never
//! freed.
//!
//! "Lives" below: the handle came from [`Handle::make`], and its value does not end while the result is used.
#![expect(unsafe_code, reason = "values in storage that C holds the address of")]

use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Error;
use crate::state::word::Word;

#[repr(C)]
pub struct Handle<T> {
    /// malloc overwrites these words once the storage is free.
    _unused: [usize; 3],
    /// `T::LIVE` while the value lives.
    mark: AtomicU64,
    value: ManuallyDrop<T>,
}

pub trait Handled: Send + Sync + Sized {
    /// The mark of live handles: different for each type, improbable in memory, and no word of a live object, which has its word
    /// at the same offset.
    const LIVE: u64;
    const NULL: &'static str;
    const ENDED: &'static str;
}

impl<T: Handled> Handle<T> {
    pub fn make(value: T) -> Result<NonNull<Self>, Error> {
        const { assert!(align_of::<Self>() <= 16) };
        const { assert!(Word(T::LIVE).head().is_none() && Word(T::LIVE).is_slow()) };
        let asked = size_of::<Self>();
        // SAFETY: malloc has no preconditions; its memory is aligned to 16.
        let storage = NonNull::new(unsafe { libc::malloc(asked) }.cast::<Self>()).ok_or(Error::no_room(asked))?;
        let handle = Handle { _unused: [0; 3], mark: AtomicU64::new(T::LIVE), value: ManuallyDrop::new(value) };
        // SAFETY: malloc's storage is unused, aligned and large enough.
        unsafe { storage.write(handle) };
        Ok(storage)
    }

    /// # Safety
    /// The handle lives.
    pub unsafe fn value<'a>(handle: *const Self) -> Result<&'a T, Error> {
        // SAFETY: the caller of `value` passes a handle that lives.
        unsafe { Self::live(handle) }.map(|handle| &*handle.value)
    }

    /// # Safety
    /// The handle lives, and no other thread uses it.
    pub unsafe fn value_mut<'a>(handle: *mut Self) -> Result<&'a mut T, Error> {
        // SAFETY: the caller of `value_mut` passes a handle that lives.
        unsafe { Self::live(handle) }?;
        // SAFETY: the caller of `value_mut` is the only user of the handle; the reference of `live` has ended.
        Ok(unsafe { &mut (*handle).value })
    }

    /// # Safety
    /// The handle lives until this call, and no other thread uses it.
    pub unsafe fn end(handle: *mut Self) -> Result<(), Error> {
        if handle.is_null() {
            return Ok(());
        }
        // SAFETY: the caller of `end` passes a handle that lives.
        unsafe { Self::live(handle) }?.mark.store(0, Ordering::Relaxed);
        // SAFETY: `live` found the handle's value; the caller of `end` is its only user.
        let value = unsafe { &mut (*handle).value };
        // SAFETY: the mark was LIVE, so the value was not dropped before.
        unsafe { ManuallyDrop::drop(value) };
        if cfg!(not(feature = "checked")) {
            // SAFETY: `make` took the storage from malloc.
            unsafe { libc::free(handle.cast()) };
        }
        Ok(())
    }

    /// # Safety
    /// The handle lives, or has ended and its storage is still readable.
    unsafe fn live<'a>(handle: *const Self) -> Result<&'a Self, Error> {
        if handle.is_null() || !handle.is_aligned() {
            return Err(Error::InvalidArgument { what: T::NULL });
        }
        // SAFETY: the caller passes a handle of `make`; the mark of an ended one is still readable.
        let mark = unsafe { &(*handle).mark };
        if mark.load(Ordering::Relaxed) != T::LIVE {
            return Err(Error::EndedHandle { what: T::ENDED });
        }
        // SAFETY: the mark is LIVE, so the value was not dropped.
        Ok(unsafe { &*handle })
    }
}
