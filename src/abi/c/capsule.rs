//! The destructor of Python's capsules of tensors.
//!
//! DLPack's Python specification gives the names of capsules. CPython's functions are looked up in the process, not linked.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::transmute;
use std::ptr::NonNull;
use std::sync::OnceLock;

use crate::abi::guard::guard;
use crate::object::dlpack;
use crate::platform::loaded;

type IsValid = unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int;
type GetPointer = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

struct Python {
    is_valid: IsValid,
    get_pointer: GetPointer,
}

fn python() -> Option<&'static Python> {
    static FOUND: OnceLock<Option<Python>> = OnceLock::new();
    let find = || {
        let [is_valid, get_pointer] = [c"PyCapsule_IsValid", c"PyCapsule_GetPointer"].map(loaded::find);
        Some(Python {
            // SAFETY: CPython's C API gives this name this signature.
            is_valid: unsafe { transmute::<NonNull<c_void>, IsValid>(is_valid?) },
            // SAFETY: CPython's C API gives this name this signature.
            get_pointer: unsafe { transmute::<NonNull<c_void>, GetPointer>(get_pointer?) },
        })
    };
    FOUND.get_or_init(find).as_ref()
}

impl Python {
    /// The pointer of a capsule of that name.
    ///
    /// # Safety
    /// `capsule` is a live `PyObject *`, and the calling thread holds the GIL.
    unsafe fn holds(&self, capsule: *mut c_void, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: the caller of `holds` passes a live `PyObject *` and holds the GIL.
        if unsafe { (self.is_valid)(capsule, name.as_ptr()) } == 0 {
            return None;
        }
        // SAFETY: the caller of `holds` keeps the object alive; the capsule has that name, so no exception is set.
        NonNull::new(unsafe { (self.get_pointer)(capsule, name.as_ptr()) })
    }
}

/// A destructor for CPython's `PyCapsule_New`, for capsules named "dltensor_versioned" or "dltensor" that hold a tensor
/// of `syncedmem_to_dlpack`. If the capsule still has that name, no consumer took the tensor, and its deleter is
/// called. A Python exception stays set.
///
/// # Safety
/// `capsule` is NULL or a `PyObject *` of that kind, and the calling thread holds the GIL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_end_capsule(capsule: *mut c_void) {
    let end = || {
        let Some(python) = python().filter(|_| !capsule.is_null()) else { return Ok(()) };
        // SAFETY: CPython, which calls this destructor, passes a live capsule and holds the GIL.
        if let Some(tensor) = unsafe { python.holds(capsule, c"dltensor_versioned") } {
            // SAFETY: the program put a tensor of `syncedmem_to_dlpack` into the capsule of this name, and does not use it again.
            unsafe { dlpack::delete(tensor, true) };
        // SAFETY: CPython, which calls this destructor, passes a live capsule and holds the GIL.
        } else if let Some(tensor) = unsafe { python.holds(capsule, c"dltensor") } {
            // SAFETY: the program put a tensor of `syncedmem_to_dlpack` into the capsule of this name, and does not use it again.
            unsafe { dlpack::delete(tensor, false) };
        }
        Ok(())
    };
    // A destructor returns nothing.
    let _ = guard::<_, crate::error::Error>(end);
}
