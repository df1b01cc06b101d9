//! Other formats' names for the types of values.

use caffemodel::Element::{self, *};

pub fn numpy(element: Element) -> &'static str {
    names(element).0
}

pub fn safetensors(element: Element) -> &'static str {
    names(element).1
}

fn names(element: Element) -> (&'static str, &'static str) {
    match element {
        F64 => ("<f8", "F64"),
        F32 => ("<f4", "F32"),
        F16 => ("<f2", "F16"),
        I64 => ("<i8", "I64"),
        I32 => ("<i4", "I32"),
        I16 => ("<i2", "I16"),
        I8 => ("|i1", "I8"),
        U16 => ("<u2", "U16"),
        U8 => ("|u1", "U8"),
        Bool => ("|b1", "BOOL"),
    }
}

pub fn named(name: &str, format: fn(Element) -> &'static str) -> Option<Element> {
    [F64, F32, F16, I64, I32, I16, I8, U16, U8, Bool].into_iter().find(|&element| format(element) == name)
}
