//! Other formats' names for the types of values.

use caffemodel::Element;

pub fn numpy(element: Element) -> &'static str {
    match element {
        Element::F64 => "<f8",
        Element::F32 => "<f4",
        Element::F16 => "<f2",
        Element::I64 => "<i8",
        Element::I32 => "<i4",
        Element::I16 => "<i2",
        Element::I8 => "|i1",
        Element::U16 => "<u2",
        Element::U8 => "|u1",
        Element::Bool => "|b1",
    }
}

pub fn safetensors(element: Element) -> &'static str {
    match element {
        Element::F64 => "F64",
        Element::F32 => "F32",
        Element::F16 => "F16",
        Element::I64 => "I64",
        Element::I32 => "I32",
        Element::I16 => "I16",
        Element::I8 => "I8",
        Element::U16 => "U16",
        Element::U8 => "U8",
        Element::Bool => "BOOL",
    }
}

/// The type that a format has this name for.
pub fn named(name: &str, format: fn(Element) -> &'static str) -> Option<Element> {
    use Element::*;
    [F64, F32, F16, I64, I32, I16, I8, U16, U8, Bool].into_iter().find(|&element| format(element) == name)
}
