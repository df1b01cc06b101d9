#![expect(unsafe_code, reason = "the name is a string of the type's maker")]

use std::ffi::{CStr, c_char};
use std::fmt;

use syncedmem_core::text::Escaped;

/// The name of a type in an error sentence. It is read when the sentence is written, while the type is in use.
#[derive(Clone, Copy, Debug)]
pub struct TypeName(Option<*const c_char>);

impl TypeName {
    pub const NONE: TypeName = TypeName(None);

    /// # Safety
    /// `name` is NULL or a string, which stays valid as long as the result is used.
    pub unsafe fn at(name: *const c_char) -> TypeName {
        TypeName(Some(name))
    }
}

impl fmt::Display for TypeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("no type"),
            Some(name) if name.is_null() => f.write_str("a type without a name"),
            // SAFETY: the caller of `at` passed a string that is still valid.
            Some(name) => Escaped(unsafe { CStr::from_ptr(name) }.to_bytes()).fmt(f),
        }
    }
}
