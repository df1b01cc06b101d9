#![expect(unsafe_code, reason = "results are written through callers' pointers")]

use std::ffi::{CStr, c_char};

use syncedmem_trace::head::Side;

use super::call::{Failure, call_for};
use super::status::syncedmem_status_t;
use crate::error::Error;

pub fn one_of<T: Copy, const N: usize>(number: i32, all: [T; N], what: &'static str) -> Result<T, Error> {
    usize::try_from(number).ok().and_then(|number| all.get(number).copied()).ok_or(Error::InvalidArgument { what })
}

pub fn side(number: i32) -> Result<Side, Error> {
    let what = "side is not a syncedmem_side_t; pass SYNCEDMEM_HOST (0) or SYNCEDMEM_DEVICE (1)";
    one_of(number, [Side::Host, Side::Device], what)
}

/// # Safety
/// The numbers do not change while the result is used.
pub unsafe fn numbers<'a>(first: *const i64, length: usize, what: &'static str) -> Result<&'a [i64], Error> {
    let is_too_many = length > isize::MAX as usize / size_of::<i64>();
    match length {
        0 => Ok(&[]),
        _ if first.is_null() || !first.is_aligned() || is_too_many => Err(Error::InvalidArgument { what }),
        // SAFETY: the caller guarantees it.
        _ => Ok(unsafe { std::slice::from_raw_parts(first, length) }),
    }
}

/// # Safety
/// The string does not change while the result is used.
pub unsafe fn string<'a>(pointer: *const c_char, what: &'static str) -> Result<&'a CStr, Error> {
    if pointer.is_null() {
        return Err(Error::InvalidArgument { what });
    }
    // SAFETY: the caller guarantees it.
    Ok(unsafe { CStr::from_ptr(pointer) })
}

pub struct Out<T>(std::ptr::NonNull<T>);

impl<T> Out<T> {
    /// # Safety
    /// A pointer that is neither NULL nor misaligned leads to a `T` that may be written.
    pub unsafe fn new(pointer: *mut T) -> Result<Self, Error> {
        std::ptr::NonNull::new(pointer).filter(|_| pointer.is_aligned()).map(Out).ok_or(Error::InvalidArgument {
            what: "the pointer for the result is NULL or misaligned; pass the address of a variable of its type",
        })
    }

    pub fn set(self, value: T) {
        // SAFETY: the caller of `new` guaranteed it.
        unsafe { self.0.write(value) }
    }
}

/// A pointer for a result, or NULL.
pub struct OptionalOut<T>(Option<Out<T>>);

impl<T> OptionalOut<T> {
    /// # Safety
    /// As for `Out::new`.
    pub unsafe fn new(pointer: *mut T) -> Result<Self, Error> {
        // SAFETY: the caller guarantees it.
        Ok(OptionalOut(if pointer.is_null() { None } else { Some(unsafe { Out::new(pointer) }?) }))
    }

    pub fn set(self, value: impl FnOnce() -> T) {
        if let Some(out) = self.0 {
            out.set(value());
        }
    }
}

/// A structure for a result. It begins with its size in bytes, which the caller sets to that in its header.
pub struct SizedOut<T> {
    structure: std::ptr::NonNull<T>,
    /// The bytes that both sides know are written.
    pub size: usize,
}

impl<T> SizedOut<T> {
    /// `least` is the smallest sensible size in bytes.
    ///
    /// # Safety
    /// A pointer that is neither NULL nor misaligned leads to a size, and to as many bytes that may be written.
    pub unsafe fn new(pointer: *mut T, least: usize) -> Result<Self, Error> {
        let structure = std::ptr::NonNull::new(pointer).filter(|_| pointer.is_aligned());
        let structure = structure.ok_or(Error::InvalidArgument {
            what: "the pointer for the result is NULL or misaligned; pass the address of a structure of its type",
        })?;
        // SAFETY: not null and aligned; the caller guarantees a size there.
        let size = unsafe { structure.cast::<usize>().read() };
        if size < least {
            return Err(Error::InvalidArgument {
                what: "the size in the structure for the result is too small; set it to the structure's sizeof before the call",
            });
        }
        Ok(Self { structure, size: size.min(size_of::<T>()) })
    }

    pub fn set(self, value: &T) {
        // SAFETY: the caller of `new` guaranteed that many writable bytes; `value` has as many.
        unsafe {
            std::ptr::copy_nonoverlapping(
                std::ptr::from_ref(value).cast::<u8>(),
                self.structure.as_ptr().cast(),
                self.size,
            )
        };
    }
}

/// Writes what `question` returns to `*out`.
///
/// # Safety
/// `out` is NULL or writable.
#[inline(always)]
pub unsafe fn answer<T>(name: &str, out: *mut T, question: impl FnOnce() -> Result<T, Error>) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { answer_for(name, out, question) }
}

/// As `answer`, with a room's errors.
///
/// # Safety
/// As for `answer`.
#[inline(always)]
pub unsafe fn answer_for<T, E: Failure>(
    name: &str,
    out: *mut T,
    question: impl FnOnce() -> Result<T, E>,
) -> syncedmem_status_t {
    call_for(name, || {
        // SAFETY: the caller guarantees it.
        let out = unsafe { Out::new(out) }?;
        out.set(question()?);
        Ok::<(), E>(())
    })
}

/// Writes what fits of `text`, and a NUL, into `capacity` bytes; nothing if that is 0. Returns the text's whole length.
///
/// # Safety
/// `to` is NULL or writable for `capacity` bytes.
pub unsafe fn write_text(to: *mut c_char, capacity: usize, text: &str) -> Result<usize, Error> {
    let Some(room) = capacity.checked_sub(1) else { return Ok(text.len()) };
    if to.is_null() {
        return Err(Error::InvalidArgument {
            what: "text is NULL; pass a buffer, or a capacity of 0 to learn the length alone",
        });
    }
    let mut bytes = text.len().min(room);
    while !text.is_char_boundary(bytes) {
        bytes -= 1;
    }
    // SAFETY: the caller guarantees room for that and a NUL.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), to.cast(), bytes) };
    // SAFETY: as above.
    let end = unsafe { to.add(bytes) };
    // SAFETY: as above.
    unsafe { end.write(0) };
    Ok(text.len())
}
