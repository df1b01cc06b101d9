//! Checks of a C function's arguments. Each unsafe one relies on what "Pointers" at the top of `syncedmem.h` asks of the
//! C function's caller, for as long as the result is used.
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

    /// No thread ends or changes the value while the result is used.
    unsafe fn value<'a>(handle: *const Self) -> Result<&'a Self::Value, Error>;
}

/// What a handle leads to.
#[inline(always)]
pub unsafe fn handle<'a, H: Opaque>(handle: *const H) -> Result<&'a H::Value, Error> {
    // SAFETY: the caller guarantees the handle.
    unsafe { H::value(handle) }
}

pub unsafe fn numbers<'a>(first: *const i64, length: usize, what: &'static str) -> Result<&'a [i64], Error> {
    let is_too_many = length > isize::MAX as usize / size_of::<i64>();
    match length {
        0 => Ok(&[]),
        _ if first.is_null() || !first.is_aligned() || is_too_many => Err(Error::InvalidArgument { what }),
        // SAFETY: the caller guarantees as many numbers, which do not change meanwhile.
        _ => Ok(unsafe { std::slice::from_raw_parts(first, length) }),
    }
}

/// A name of an object, a blob or a file.
pub unsafe fn string<'a>(pointer: *const c_char) -> Result<&'a CStr, Error> {
    if pointer.is_null() {
        return Err(Error::InvalidArgument { what: "a name is NULL; pass a string" });
    }
    // SAFETY: the caller guarantees a NUL, and that the string does not change meanwhile.
    Ok(unsafe { CStr::from_ptr(pointer) })
}

/// Where a result is written.
pub unsafe fn out<T>(pointer: *mut T) -> Result<Out<T>, Error> {
    NonNull::new(pointer).filter(|_| pointer.is_aligned()).map(Out).ok_or(Error::InvalidArgument {
        what: "the pointer for the result is NULL or misaligned; pass the address of a variable of its type",
    })
}

/// As `out`, for a variable of an enumeration of C.
pub unsafe fn out_number<E>(pointer: *mut E) -> Result<Out<i32>, Error> {
    const { assert!(size_of::<E>() == size_of::<i32>()) };
    // SAFETY: the caller guarantees a variable of that size.
    unsafe { out(pointer.cast()) }
}

/// As `out`, where NULL stands for no interest in the result.
pub unsafe fn optional_out<T>(pointer: *mut T) -> Result<OptionalOut<T>, Error> {
    // SAFETY: the caller guarantees a variable unless it is NULL.
    Ok(OptionalOut(if pointer.is_null() { None } else { Some(unsafe { out(pointer) }?) }))
}

/// Where a text of at most `capacity` bytes with its NUL is written.
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
        // SAFETY: the caller of `out` guarantees a variable that may be written.
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
    /// Writes what fits of `words`, and a NUL; nothing if the capacity is 0. Returns the whole length.
    pub fn set(self, words: &str) -> usize {
        if let Some(most) = self.capacity.checked_sub(1) {
            let mut bytes = words.len().min(most);
            while !words.is_char_boundary(bytes) {
                bytes -= 1;
            }
            // SAFETY: the caller of `text_out` guarantees `capacity` bytes, which is more.
            unsafe {
                std::ptr::copy_nonoverlapping(words.as_ptr(), self.text.cast(), bytes);
                self.text.add(bytes).write(0);
            }
        }
        words.len()
    }
}

/// A structure that may be longer in later versions. It begins with its size in bytes, which the caller sets to that in
/// its header.
pub trait Grows {
    /// The smallest size that a caller may set.
    const LEAST: usize;
}

/// Where such a structure is written.
pub unsafe fn sized_out<T: Grows>(pointer: *mut T) -> Result<SizedOut<T>, Error> {
    let structure = NonNull::new(pointer).filter(|_| pointer.is_aligned()).ok_or(Error::InvalidArgument {
        what: "the pointer for the result is NULL or misaligned; pass the address of a structure of its type",
    })?;
    // SAFETY: not null and aligned; the caller guarantees a size there.
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
    /// The bytes that both sides know are written.
    pub size: usize,
}

impl<T> SizedOut<T> {
    pub fn set(&self, value: &T) {
        let bytes = std::ptr::from_ref(value).cast::<u8>();
        // SAFETY: the caller of `sized_out` guarantees that many writable bytes; `value` has as many.
        unsafe { bytes.copy_to_nonoverlapping(self.structure.as_ptr().cast(), self.size) };
    }
}
