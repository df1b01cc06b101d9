//! Types of items and values, and calls of their functions.
#![expect(unsafe_code, reason = "functions of the caller's types are called")]

use std::ffi::{CStr, c_char, c_void};
use std::ptr::{NonNull, null};

use super::error::Error;
use super::type_name::TypeName;
use crate::object::element::ElementType;

/// Makes `count` items at `items`, or returns false and has made none.
#[expect(non_camel_case_types, reason = "the name of the C API")]
pub type syncedmem_construct_t = Option<unsafe extern "C-unwind" fn(items: *mut c_void, count: usize) -> bool>;

/// Ends `count` items at `items`.
#[expect(non_camel_case_types, reason = "the name of the C API")]
pub type syncedmem_destruct_t = Option<unsafe extern "C-unwind" fn(items: *mut c_void, count: usize)>;

/// Assigns `count` items at `source` to those at `target`, or returns false: each target then holds its old or its new
/// value.
#[expect(non_camel_case_types, reason = "the name of the C API")]
pub type syncedmem_copy_t =
    Option<unsafe extern "C-unwind" fn(source: *const c_void, target: *mut c_void, count: usize) -> bool>;

/// Frees the memory, or ends the blob's value, that was passed together with it. Called once, on any thread, without
/// locks.
#[expect(non_camel_case_types, reason = "the name of the C API")]
pub type syncedmem_deleter_t = Option<unsafe extern "C-unwind" fn(pointer: *mut c_void, context: *mut c_void)>;

/// The type of a tensor's items, or of a blob's value. Plain items, for which all bytes zero is a value and which are
/// copied as bytes, have no functions. The functions may be called on any thread; they neither throw nor use the tensor
/// or blob that calls them. This structure never grows.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct syncedmem_typemeta_t {
    /// Identifies the type, such as the address of a static that only this type uses. NULL: no type.
    pub id: *const c_void,
    /// UTF-8, valid as long as anything has the type.
    pub name: *const c_char,
    /// Bytes of one item.
    pub itemsize: usize,
    /// NULL: new items are bytes of zero.
    pub construct: syncedmem_construct_t,
    /// NULL: items need no end.
    pub destruct: syncedmem_destruct_t,
    /// NULL: items are copied as bytes, or not at all beside one of the other functions.
    pub copy: syncedmem_copy_t,
}

pub use syncedmem_typemeta_t as TypeMeta;

// SAFETY: the C caller passes functions for any thread, and a constant name.
unsafe impl Send for TypeMeta {}
// SAFETY: the C caller passes functions for any thread, and a constant name.
unsafe impl Sync for TypeMeta {}

impl PartialEq for TypeMeta {
    fn eq(&self, other: &Self) -> bool {
        // Types of one id and two sizes differ, because the items of one do not fit the memory of the other.
        self.id == other.id && self.itemsize == other.itemsize
    }
}

/// The names of the built-in types, by number. Their addresses are the types' ids.
static NAMES: [&CStr; 11] = [
    c"float32", c"float64", c"float16", c"int8", c"uint8", c"int16", c"uint16", c"int32", c"uint32", c"int64", c"bool",
];

impl TypeMeta {
    /// No type.
    pub const NONE: TypeMeta =
        TypeMeta { id: null(), name: c"".as_ptr(), itemsize: 0, construct: None, destruct: None, copy: None };

    pub(crate) fn of(element: ElementType) -> TypeMeta {
        let name = &NAMES[element as usize];
        TypeMeta { id: std::ptr::from_ref(name).cast(), name: name.as_ptr(), itemsize: element.bytes(), ..Self::NONE }
    }

    pub(crate) fn element(&self) -> Option<ElementType> {
        ElementType::ALL.into_iter().find(|&element| TypeMeta::of(element) == *self)
    }

    /// Whether this is no type.
    pub fn is_none(&self) -> bool {
        self.id.is_null()
    }

    pub(crate) fn is_plain(&self) -> bool {
        self.construct.is_none() && self.destruct.is_none() && self.copy.is_none()
    }

    /// Whether memory of this type may hold items of the other.
    pub(crate) fn serves(&self, other: &TypeMeta) -> bool {
        !other.is_none() && (self == other || (self.is_plain() && other.is_plain()))
    }

    pub(crate) fn shown(&self) -> TypeName {
        if self.is_none() {
            return TypeName::NONE;
        }
        // SAFETY: the C caller passed a name that is a string as long as anything has the type.
        unsafe { TypeName::at(self.name) }
    }

    /// # Safety
    /// `items` is aligned memory for `count` items, filled with zeros.
    pub(crate) unsafe fn construct(&self, items: NonNull<c_void>, count: usize) -> Result<(), Error> {
        let Some(construct) = self.construct else { return Ok(()) };
        // SAFETY: the caller of `construct` passes the memory; the C caller passed the function for it.
        if unsafe { construct(items.as_ptr(), count) } {
            Ok(())
        } else {
            Err(Error::Refused("construct", self.shown()))
        }
    }

    /// # Safety
    /// At `items` are `count` items of the type, which are not used again.
    pub(crate) unsafe fn destruct(&self, items: NonNull<c_void>, count: usize) {
        if let Some(destruct) = self.destruct {
            // SAFETY: the caller of `destruct` passes the items; the C caller passed the function for them.
            unsafe { destruct(items.as_ptr(), count) };
        }
    }

    /// # Safety
    /// At both addresses are `count` items on the host. Items with a `copy` function do not overlap.
    pub(crate) unsafe fn copy(
        &self,
        source: NonNull<c_void>,
        target: NonNull<c_void>,
        count: usize,
    ) -> Result<(), Error> {
        match self.copy {
            Some(copy) => {
                // SAFETY: the caller of `copy` passes the items; the C caller passed the function for them.
                let done = unsafe { copy(source.as_ptr(), target.as_ptr(), count) };
                if done { Ok(()) } else { Err(Error::Refused("copy", self.shown())) }
            }
            None if self.is_plain() => {
                let (source, target) = (source.cast::<u8>(), target.cast::<u8>());
                // SAFETY: the caller of `copy` passes `count` items at both addresses.
                unsafe { target.copy_from(source, count * self.itemsize) };
                Ok(())
            }
            None => Err(Error::NotCopied(self.shown())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_types_have_the_names_of_the_element_types_and_an_id_of_their_own() {
        for element in ElementType::ALL {
            let meta = TypeMeta::of(element);
            assert_eq!(meta.shown().to_string(), element.name());
            assert_eq!((meta.element(), meta.itemsize), (Some(element), element.bytes()));
        }
        assert_eq!(TypeMeta::NONE.element(), None);
    }
}
