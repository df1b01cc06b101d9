//! The types that cross the C boundary: statuses, addresses, handles, and a caller's pointers.
#![expect(unsafe_code, reason = "reads and writes through the pointers that C callers pass")]

use std::ffi::{CStr, c_char, c_int};

/// A `CUresult`: an integer, because an injected fault may have any value.
pub type Status = c_int;

pub type Outcome<T = ()> = Result<T, Status>;

/// A device or host address. Those of devices are not dereferenced.
pub type Address = usize;

/// A `CUcontext`, `CUstream`, `CUevent` or `CUmemoryPool`: points to nothing.
pub type Handle = usize;

pub const SUCCESS: Status = 0;
pub const INVALID_VALUE: Status = 1;
pub const OUT_OF_MEMORY: Status = 2;
pub const NOT_INITIALIZED: Status = 3;
pub const NO_DEVICE: Status = 100;
pub const INVALID_DEVICE: Status = 101;
pub const INVALID_CONTEXT: Status = 201;
pub const INVALID_HANDLE: Status = 400;
pub const ILLEGAL_STATE: Status = 401;
pub const NOT_READY: Status = 600;
pub const ILLEGAL_ADDRESS: Status = 700;
pub const CONTEXT_IS_DESTROYED: Status = 709;
pub const HOST_MEMORY_ALREADY_REGISTERED: Status = 712;
pub const HOST_MEMORY_NOT_REGISTERED: Status = 713;
pub const NOT_PERMITTED: Status = 800;
pub const NOT_SUPPORTED: Status = 801;
pub const STREAM_CAPTURE_UNSUPPORTED: Status = 900;
pub const STREAM_CAPTURE_INVALIDATED: Status = 901;
pub const STREAM_CAPTURE_MERGE: Status = 902;
pub const STREAM_CAPTURE_ISOLATION: Status = 905;
pub const STREAM_CAPTURE_IMPLICIT: Status = 906;
pub const CAPTURED_EVENT: Status = 907;
pub const UNKNOWN: Status = 999;

/// A caller's place for a result: NULL or, as the C caller guarantees, writable for a `T`.
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Out<T> {}

impl<T> Out<T> {
    /// Casts to the type that an attribute has.
    pub fn cast<U>(self) -> Out<U> {
        Out(self.0.cast())
    }

    pub fn required(self) -> Outcome {
        if self.0.is_null() { Err(INVALID_VALUE) } else { Ok(()) }
    }

    /// Fails for NULL.
    pub fn value(self) -> Outcome<T>
    where
        T: Copy,
    {
        self.required()?;
        // SAFETY: the C caller guarantees a `T`.
        Ok(unsafe { self.0.read_unaligned() })
    }

    /// Fails for NULL.
    pub fn put(self, value: T) -> Outcome {
        self.required()?;
        self.put_if_wanted(value);
        Ok(())
    }

    /// Writes as much as the caller's structure has; its first field is its size, and stays.
    pub fn put_sized(self, value: T) {
        let size: *mut usize = self.0.cast();
        if size.is_null() {
            return;
        }
        // SAFETY: the C caller guarantees a structure that begins with its size.
        let theirs = unsafe { size.read_unaligned() };
        let bytes = theirs.min(std::mem::size_of::<T>()).saturating_sub(std::mem::size_of::<usize>());
        // SAFETY: the field after the size is within the value or at its end.
        let from = unsafe { (&raw const value).cast::<usize>().add(1) };
        // SAFETY: the result is within the caller's structure or at its end.
        let to = unsafe { size.add(1) };
        // SAFETY: both structures have that many bytes after their first field.
        unsafe { std::ptr::copy_nonoverlapping(from.cast::<u8>(), to.cast::<u8>(), bytes) };
    }

    pub fn put_if_wanted(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: the C caller guarantees room for a `T`.
            unsafe { self.0.write_unaligned(value) };
        }
    }
}

/// A caller's array.
#[repr(transparent)]
pub struct Array<T>(*const T);

impl<T: Copy> Array<T> {
    /// `index` is below the length that the caller stated. Fails for NULL.
    pub fn get(&self, index: usize) -> Outcome<T> {
        if self.0.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the C caller guarantees the length.
        let element = unsafe { self.0.add(index) };
        // SAFETY: the C caller guarantees an array of that length.
        Ok(unsafe { element.read_unaligned() })
    }
}

/// A caller's C string, or NULL.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Text(*const c_char);

impl Text {
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// `None` for NULL, or if it is not UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: the C caller guarantees a NUL-terminated string that outlives the call.
        unsafe { CStr::from_ptr(self.0) }.to_str().ok()
    }
}

/// A caller's room for text, or NULL.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Buffer(*mut u8);

impl Buffer {
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Writes as much of `text` as fits into `room` bytes with a NUL.
    pub fn put_text(self, room: usize, text: &str) {
        if self.0.is_null() || room == 0 {
            return;
        }
        let length = text.len().min(room - 1);
        // SAFETY: the C caller guarantees `room` writable bytes, and `length` is less.
        unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), self.0, length) };
        // SAFETY: `length` is less than `room`.
        let end = unsafe { self.0.add(length) };
        // SAFETY: `end` is within the `room` bytes that the C caller guarantees.
        unsafe { end.write(0) };
    }
}

/// The two places may overlap.
///
/// # Safety
/// `from` is readable and `to` writable for `bytes` bytes.
pub unsafe fn move_bytes(to: Address, from: Address, bytes: usize) {
    let (to, from) = (std::ptr::with_exposed_provenance_mut::<u8>(to), std::ptr::with_exposed_provenance(from));
    // SAFETY: both ranges are valid, by this function's contract.
    unsafe { std::ptr::copy(from, to, bytes) };
}

/// # Safety
/// `to` is writable for `bytes` bytes.
pub unsafe fn fill_bytes(to: Address, value: u8, bytes: usize) {
    // SAFETY: the range is writable, by this function's contract.
    unsafe { std::ptr::with_exposed_provenance_mut::<u8>(to).write_bytes(value, bytes) };
}
