//! Where results go: a pointer that is NULL or misaligned is an error, the rest is the caller's promise.
#![expect(unsafe_code, reason = "results are written through callers' pointers")]

use std::ffi::c_char;

use crate::error::Error;

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
