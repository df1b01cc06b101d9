//! The formats of arrays, and their names for the types of values.

use std::path::Path;

use caffemodel::Element::{self, *};
use clap::ValueEnum;

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Format {
    Safetensors,
    Npz,
}

impl Format {
    pub fn extension(self) -> &'static str {
        match self {
            Self::Safetensors => "safetensors",
            Self::Npz => "npz",
        }
    }

    /// The format of a file with this name.
    pub fn of_name(path: &Path) -> Option<Self> {
        let extension = path.extension()?;
        [Self::Safetensors, Self::Npz].into_iter().find(|format| extension == format.extension())
    }
}

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
