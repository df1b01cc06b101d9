//! Checks of a C function's arguments.
//!
//! Each unsafe function relies on the C caller (see `abi`), which keeps the rules of "Pointers" in `syncedmem.h` as long as the
//! result is used.
#![expect(unsafe_code, reason = "callers' pointers")]

use std::ffi::{CStr, c_char};
use std::ptr::NonNull;

use syncedmem_core::head::Side;

use crate::error::Error;

pub fn one_of<T: Copy, const N: usize>(number: i32, all: [T; N], what: &'static str) -> Result<T, Error> {
    usize::try_from(number).ok().and_then(|number| all.get(number).copied()).ok_or(Error::InvalidArgument { what })
}

pub fn side(number: i32) -> Result<Side, Error> {
    let what = "side is not a syncedmem_side_t; pass SYNCEDMEM_HOST (0) or SYNCEDMEM_DEVICE (1)";
    one_of(number, [Side::Host, Side::Device], what)
}

/// A type of the C API whose addresses are handles.
pub trait Opaque {
    type Value;

    /// # Safety
    /// The handle is the C caller's; no thread ends or changes the value while the result is used.
    unsafe fn value<'a>(handle: *const Self) -> Result<&'a Self::Value, Error>;
}

#[inline(always)]
pub unsafe fn handle<'a, H: Opaque>(handle: *const H) -> Result<&'a H::Value, Error> {
    // SAFETY: the C caller passes a live handle, and keeps it while the result is used.
    unsafe { H::value(handle) }
}

pub unsafe fn numbers<'a>(first: *const i64, length: usize, what: &'static str) -> Result<&'a [i64], Error> {
    let is_too_many = length > isize::MAX as usize / size_of::<i64>();
    match length {
        0 => Ok(&[]),
        _ if first.is_null() || !first.is_aligned() || is_too_many => Err(Error::InvalidArgument { what }),
        // SAFETY: the C caller passes `length` numbers, which do not change during the call.
        _ => Ok(unsafe { std::slice::from_raw_parts(first, length) }),
    }
}

/// The name of an object, a blob or a file.
pub unsafe fn string<'a>(pointer: *const c_char) -> Result<&'a CStr, Error> {
    if pointer.is_null() {
        return Err(Error::InvalidArgument { what: "a name is NULL; pass a string" });
    }
    // SAFETY: the C caller passes a string with a NUL, which does not change during the call.
    Ok(unsafe { CStr::from_ptr(pointer) })
}

/// The variable for a result.
pub unsafe fn out<T>(pointer: *mut T) -> Result<Out<T>, Error> {
    NonNull::new(pointer).filter(|_| pointer.is_aligned()).map(Out).ok_or(Error::InvalidArgument {
        what: "the pointer for the result is NULL or misaligned; pass the address of a variable of its type",
    })
}

/// The variable for a result that is a number of a C enumeration.
pub unsafe fn out_number<E>(pointer: *mut E) -> Result<Out<i32>, Error> {
    const { assert!(size_of::<E>() == size_of::<i32>()) };
    // SAFETY: the C caller passes a variable of the enumeration, which has the size of an i32 (asserted above).
    unsafe { out(pointer.cast()) }
}

/// The variable for a result; the C caller passes NULL if it does not want it.
pub unsafe fn optional_out<T>(pointer: *mut T) -> Result<OptionalOut<T>, Error> {
    // SAFETY: the C caller passes NULL or a variable.
    Ok(OptionalOut(if pointer.is_null() { None } else { Some(unsafe { out(pointer) }?) }))
}

/// The buffer for a text, of `capacity` bytes with its NUL.
pub unsafe fn text_out(text: *mut c_char, capacity: usize) -> Result<TextOut, Error> {
    if text.is_null() && capacity > 0 {
        return Err(Error::InvalidArgument {
            what: "text is NULL; pass a buffer, or a capacity of 0 to learn the length alone",
        });
    }
    Ok(TextOut { text, capacity })
}

pub struct Out<T>(NonNull<T>);

impl<T> Out<T> {
    pub fn set(self, value: T) {
        // SAFETY: the C caller passed a writable variable to `out`.
        unsafe { self.0.write(value) }
    }
}

pub struct OptionalOut<T>(Option<Out<T>>);

impl<T> OptionalOut<T> {
    pub fn set(self, value: impl FnOnce() -> T) {
        if let Some(out) = self.0 {
            out.set(value());
        }
    }
}

pub struct TextOut {
    text: *mut c_char,
    capacity: usize,
}

impl TextOut {
    /// Writes the part of `words` that fits and a NUL, or nothing if the capacity is 0. Returns the length of all of `words`.
    pub fn set(self, words: &str) -> usize {
        if let Some(most) = self.capacity.checked_sub(1) {
            let mut bytes = words.len().min(most);
            while !words.is_char_boundary(bytes) {
                bytes -= 1;
            }
            // SAFETY: the C caller passed `capacity` writable bytes to `text_out`, and `bytes + 1 <= capacity`.
            unsafe {
                std::ptr::copy_nonoverlapping(words.as_ptr(), self.text.cast(), bytes);
                self.text.add(bytes).write(0);
            }
        }
        words.len()
    }
}

/// A structure that may be longer in later versions. Its first member is its size in bytes, which the C caller sets to the
/// `sizeof` of its own header.
pub trait Grows {
    /// The smallest size that the C caller may set.
    const LEAST: usize;
}

/// The variable for a structure that may grow.
pub unsafe fn sized_out<T: Grows>(pointer: *mut T) -> Result<SizedOut<T>, Error> {
    let structure = NonNull::new(pointer).filter(|_| pointer.is_aligned()).ok_or(Error::InvalidArgument {
        what: "the pointer for the result is NULL or misaligned; pass the address of a structure of its type",
    })?;
    // SAFETY: the address is not null and is aligned; the C caller passes a structure that begins with its size.
    let size = unsafe { structure.cast::<usize>().read() };
    if size < T::LEAST {
        return Err(Error::InvalidArgument {
            what: "the size in the structure for the result is too small; set it to the structure's sizeof before the call",
        });
    }
    Ok(SizedOut { structure, size: size.min(size_of::<T>()) })
}

pub struct SizedOut<T> {
    structure: NonNull<T>,
    /// The number of bytes to write: those that the C caller's header and this library both have.
    pub size: usize,
}

impl<T> SizedOut<T> {
    pub fn set(&self, value: &T) {
        let bytes = std::ptr::from_ref(value).cast::<u8>();
        // SAFETY: the C caller passed a structure of at least `size` bytes to `sized_out`; `value` has as many.
        unsafe { bytes.copy_to_nonoverlapping(self.structure.as_ptr().cast(), self.size) };
    }
}
