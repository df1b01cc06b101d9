//! What callers pass, checked: NULL and alignment here, the rest is theirs to keep.
#![expect(unsafe_code, reason = "callers' pointers become references")]

use std::ffi::c_char;

use super::object::syncedmem_t;
use crate::error::Error;
use crate::object::SyncedMemory;

/// The object behind a handle.
///
/// # Safety
/// A handle that is neither NULL nor misaligned leads to 32 readable and writable bytes.
pub unsafe fn object<'a>(handle: *const syncedmem_t) -> Result<&'a SyncedMemory, Error> {
    let object = handle.cast::<SyncedMemory>();
    if object.is_null() {
        return Err(Error::InvalidArgument {
            what: "mem is NULL; pass a handle from syncedmem_create or syncedmem_construct, or the address of a \
                   caffe::SyncedMemory",
        });
    }
    if !object.is_aligned() {
        return Err(Error::InvalidArgument {
            what: "mem is not aligned to 8 bytes, so it is not a handle; pass the one that \
                   syncedmem_create or syncedmem_construct returned",
        });
    }
    // SAFETY: the caller guarantees it; all fields are atomics, so shared references may alias.
    Ok(unsafe { &*object })
}

/// Where a result goes.
pub struct Out<T>(std::ptr::NonNull<T>);

impl<T> Out<T> {
    /// # Safety
    /// A pointer that is neither NULL nor misaligned leads to a `T` that may be written.
    pub unsafe fn new(pointer: *mut T) -> Result<Self, Error> {
        std::ptr::NonNull::new(pointer).filter(|_| pointer.is_aligned()).map(Out).ok_or(Error::InvalidArgument {
            what: "the pointer for the result is NULL or misaligned; pass the address of a variable of its type",
        })
    }

    /// Writes the result.
    pub fn set(self, value: T) {
        // SAFETY: whoever called `new` guaranteed it.
        unsafe { self.0.write(value) }
    }
}

/// Writes as much of `text` as fits into `capacity` bytes, with a NUL at the end; nothing if there are none.
///
/// # Safety
/// `to` is NULL or writable for `capacity` bytes.
pub unsafe fn write_text(to: *mut c_char, capacity: usize, text: &str) -> Result<(), Error> {
    let Some(room) = capacity.checked_sub(1) else { return Ok(()) };
    if to.is_null() {
        return Err(Error::InvalidArgument {
            what: "text is NULL; pass a buffer, or a capacity of 0 to learn the length alone",
        });
    }
    let mut bytes = text.len().min(room);
    while !text.is_char_boundary(bytes) {
        bytes -= 1;
    }
    // SAFETY: the caller guarantees room for one byte more than that.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), to.cast(), bytes) };
    // SAFETY: as above.
    let end = unsafe { to.add(bytes) };
    // SAFETY: as above.
    unsafe { end.write(0) };
    Ok(())
}
