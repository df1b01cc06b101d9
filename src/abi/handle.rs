//! Handles of what the library makes beside objects: addresses of values. The feature `checked` keeps their storage for
//! ever.
#![expect(unsafe_code, reason = "values in storage that C holds the address of")]

use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Error;
use crate::state::word::Word;

#[repr(C)]
pub struct Handle<T> {
    /// malloc keeps its own words here once the storage is free.
    _unused: [usize; 3],
    /// `T::LIVE` while the value lives.
    mark: AtomicU64,
    value: ManuallyDrop<T>,
}

pub trait Handled: Send + Sync + Sized {
    /// The mark of live handles: another for each type, improbable in memory, and no live object's word, which objects
    /// have in this place.
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
        // SAFETY: fresh storage, aligned and large enough.
        unsafe { storage.write(handle) };
        Ok(storage)
    }

    /// # Safety
    /// The handle came from `make`, and its value is not ended while the result is used.
    pub unsafe fn value<'a>(handle: *const Self) -> Result<&'a T, Error> {
        // SAFETY: the caller guarantees it.
        unsafe { Self::live(handle) }.map(|handle| &*handle.value)
    }

    /// # Safety
    /// As for `value`, and no other thread uses the handle.
    pub unsafe fn value_mut<'a>(handle: *mut Self) -> Result<&'a mut T, Error> {
        // SAFETY: the caller guarantees it.
        unsafe { Self::live(handle) }?;
        // SAFETY: as above; the reference of `live` has ended.
        Ok(unsafe { &mut (*handle).value })
    }

    /// # Safety
    /// As for `value`, and no other thread uses the handle.
    pub unsafe fn end(handle: *mut Self) -> Result<(), Error> {
        if handle.is_null() {
            return Ok(());
        }
        // SAFETY: the caller guarantees it.
        unsafe { Self::live(handle) }?.mark.store(0, Ordering::Relaxed);
        // SAFETY: it was live until here, and no other thread uses it.
        let value = unsafe { &mut (*handle).value };
        // SAFETY: its mark says that it was not dropped before.
        unsafe { ManuallyDrop::drop(value) };
        if cfg!(not(feature = "checked")) {
            // SAFETY: `make` took it from malloc.
            unsafe { libc::free(handle.cast()) };
        }
        Ok(())
    }

    unsafe fn live<'a>(handle: *const Self) -> Result<&'a Self, Error> {
        if handle.is_null() || !handle.is_aligned() {
            return Err(Error::InvalidArgument { what: T::NULL });
        }
        // SAFETY: the caller guarantees it; an ended handle has its mark left.
        let mark = unsafe { &(*handle).mark };
        if mark.load(Ordering::Relaxed) != T::LIVE {
            return Err(Error::EndedHandle { what: T::ENDED });
        }
        // SAFETY: live, as its mark says.
        Ok(unsafe { &*handle })
    }
}
