//! C++ exceptions, made with the libstdc++ that the process already has. None is linked or loaded.
#![expect(unsafe_code, reason = "the Itanium C++ ABI's exception functions, found by name")]

use std::ffi::{CStr, c_char, c_void};
use std::mem::transmute;

use crate::error::Error;
use crate::ffi::per_thread::Sentence;

/// Throws `std::bad_alloc` for memory that ran out, `std::runtime_error` with `sentence` for the rest.
/// Returns only if the process has nothing to throw with.
pub fn throw(error: Error, sentence: &Sentence) {
    let Some(thrower) = Thrower::find(error) else { return };
    thrower.throw(sentence.as_c_str());
}

type Allocate = unsafe extern "C-unwind" fn(usize) -> *mut c_void;
type Throw = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void, *mut c_void) -> !;

/// What it takes to throw one exception.
struct Thrower {
    allocate: Allocate,
    throw: Throw,
    /// `std::type_info` of the class.
    type_info: *mut c_void,
    destructor: *mut c_void,
    class: Class,
}

enum Class {
    /// `std::bad_alloc` is its virtual table's address and nothing else.
    BadAlloc { vtable: *mut c_void },
    /// `std::runtime_error` takes a `std::string`; the one of the old ABI, which every libstdc++ has.
    RuntimeError { new: NewRuntimeError, new_string: NewString, delete_string: DeleteString },
}

/// `std::runtime_error::runtime_error(const std::string&)`
type NewRuntimeError = unsafe extern "C-unwind" fn(*mut c_void, *const *mut c_void);
/// `std::string::string(const char*, const std::allocator<char>&)`
type NewString = unsafe extern "C-unwind" fn(*mut *mut c_void, *const c_char, *const u8);
/// `std::string::~string()`
type DeleteString = unsafe extern "C-unwind" fn(*mut *mut c_void);

impl Thrower {
    fn find(error: Error) -> Option<Thrower> {
        let library = Library::open();
        // SAFETY: the Itanium C++ ABI (2.4.2) gives this name this signature.
        let allocate = unsafe { transmute::<*mut c_void, Allocate>(library.find(c"__cxa_allocate_exception")?) };
        // SAFETY: likewise (2.4.3).
        let throw = unsafe { transmute::<*mut c_void, Throw>(library.find(c"__cxa_throw")?) };
        if matches!(error, Error::OutOfMemory { .. }) {
            return Some(Thrower {
                allocate,
                throw,
                type_info: library.find(c"_ZTISt9bad_alloc")?,
                destructor: library.find(c"_ZNSt9bad_allocD1Ev")?,
                class: Class::BadAlloc { vtable: library.find(c"_ZTVSt9bad_alloc")? },
            });
        }
        let new = library.find(c"_ZNSt13runtime_errorC1ERKSs")?;
        let new_string = library.find(c"_ZNSsC1EPKcRKSaIcE")?;
        let delete_string = library.find(c"_ZNSsD1Ev")?;
        Some(Thrower {
            allocate,
            throw,
            type_info: library.find(c"_ZTISt13runtime_error")?,
            destructor: library.find(c"_ZNSt13runtime_errorD1Ev")?,
            class: Class::RuntimeError {
                // SAFETY: the mangled name fixes the signature.
                new: unsafe { transmute::<*mut c_void, NewRuntimeError>(new) },
                // SAFETY: likewise.
                new_string: unsafe { transmute::<*mut c_void, NewString>(new_string) },
                // SAFETY: likewise.
                delete_string: unsafe { transmute::<*mut c_void, DeleteString>(delete_string) },
            },
        })
    }

    /// Nothing in this frame is dropped: the exception leaves it as it is.
    fn throw(&self, what: &CStr) -> ! {
        // Both classes are at most a virtual table's address and one string's.
        const SIZE: usize = 2 * size_of::<*mut c_void>();
        // SAFETY: any size will do; it terminates the process rather than return null.
        let exception = unsafe { (self.allocate)(SIZE) };
        match self.class {
            Class::BadAlloc { vtable } => {
                // Objects point behind the table's first two words: the offset to the top and the type information.
                // SAFETY: the virtual table is longer than that.
                let behind = unsafe { vtable.byte_add(2 * size_of::<*mut c_void>()) };
                // SAFETY: the exception's storage is writable and aligned for any object.
                unsafe { exception.cast::<*mut c_void>().write(behind) };
            }
            Class::RuntimeError { new, new_string, delete_string } => {
                let mut string = std::ptr::null_mut();
                // SAFETY: a string of the old ABI is one pointer; `what` is NUL-terminated; allocators are empty.
                unsafe { new_string(&mut string, what.as_ptr(), &0) };
                // SAFETY: the storage is large enough for a runtime_error, and `string` is one.
                unsafe { new(exception, &string) };
                // SAFETY: constructed above, and the exception has its own copy.
                unsafe { delete_string(&mut string) };
            }
        }
        // SAFETY: a complete exception with its own type information and destructor.
        unsafe { (self.throw)(exception, self.type_info, self.destructor) }
    }
}

/// The process's libstdc++.
struct Library(*mut c_void);

impl Library {
    /// Finds it without loading anything; else whatever the program itself exports.
    fn open() -> Library {
        const FLAGS: i32 = libc::RTLD_NOLOAD | libc::RTLD_LAZY;
        // SAFETY: the name is NUL-terminated. The handle is kept: what is thrown outlives this call.
        let loaded = unsafe { libc::dlopen(c"libstdc++.so.6".as_ptr(), FLAGS) };
        Library(if loaded.is_null() { libc::RTLD_DEFAULT } else { loaded })
    }

    fn find(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the handle is open or RTLD_DEFAULT; the name is NUL-terminated.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    }
}
