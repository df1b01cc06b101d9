//! Reads the containers that Caffe's accessors return references to. What does not look like one is refused.
//!
//! Layouts: `std::vector` is three pointers (begin, end, end of the storage). `std::string` of the ABI since GCC 5 is a
//! pointer, a length and 16 bytes; before, a pointer to characters behind length, capacity and count of owners. `shared_ptr`
//! of Boost and of libstdc++ is a pointer to the object and one to its owners.

use std::ffi::c_void;

/// A container of more elements is refused: no net has so many layers, blobs or letters.
const MOST: usize = 1 << 20;

/// A `shared_ptr`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Shared {
    pub object: *mut c_void,
    owners: *mut c_void,
}

/// A vector inside a vector.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Vector([usize; 3]);

#[derive(Clone, Copy)]
#[repr(C)]
pub struct NewString {
    text: *const u8,
    length: usize,
    local: [u8; 16],
}

#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct OldString {
    text: *const u8,
}

/// The elements of a vector.
///
/// # Safety
/// `vector` is null or leads to a `std::vector` of elements that begin with a `T`, which does not change while the slice lives.
pub unsafe fn elements<'a, T: Copy>(vector: *const c_void) -> Option<&'a [T]> {
    let vector = vector.cast::<Vector>();
    if vector.is_null() || !vector.is_aligned() {
        return None;
    }
    // SAFETY: the caller guarantees it.
    let Vector([begin, end, storage]) = unsafe { *vector };
    if begin == 0 && end == 0 {
        return Some(&[]);
    }
    let bytes = end.checked_sub(begin)?;
    let is_vector = end <= storage && begin % align_of::<T>() == 0 && bytes % size_of::<T>() == 0;
    if begin == 0 || !is_vector || bytes / size_of::<T>() > MOST {
        return None;
    }
    // SAFETY: the caller guarantees that it is a vector of such elements.
    Some(unsafe { std::slice::from_raw_parts(begin as *const T, bytes / size_of::<T>()) })
}

impl NewString {
    /// # Safety
    /// It is a `std::string` that lives and does not change.
    pub unsafe fn text(&self) -> Option<&str> {
        let is_local = std::ptr::eq(self.text, self.local.as_ptr());
        if self.text.is_null() || self.length > MOST || is_local && self.length > 15 {
            return None;
        }
        // SAFETY: the caller guarantees it.
        let letters = unsafe { std::slice::from_raw_parts(self.text, self.length) };
        std::str::from_utf8(letters).ok()
    }
}

impl OldString {
    /// # Safety
    /// It is a `std::string` of the ABI before GCC 5 that lives and does not change.
    pub unsafe fn text(&self) -> Option<&str> {
        if self.text.is_null() || self.text.addr() % 8 != 0 {
            return None;
        }
        let head = self.text.cast::<usize>().wrapping_sub(3);
        // SAFETY: the caller guarantees it: length, capacity and owners lie before the characters.
        let [length, capacity] = unsafe { *head.cast::<[usize; 2]>() };
        if length > capacity || length > MOST {
            return None;
        }
        // SAFETY: as above.
        let letters = unsafe { std::slice::from_raw_parts(self.text, length) };
        std::str::from_utf8(letters).ok()
    }
}
