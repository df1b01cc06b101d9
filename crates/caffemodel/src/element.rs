//! Types of values.

use std::fmt;

use crate::half;

/// The type of an array's values, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// IEEE 754 of 64 bits.
    F64,
    /// IEEE 754 of 32 bits.
    F32,
    /// IEEE 754 of 16 bits, which only NVIDIA's Caffe stores.
    F16,
    /// Integer of 64 bits. Only Caffe2 stores this type and those below.
    I64,
    /// Integer of 32 bits.
    I32,
    /// Integer of 16 bits.
    I16,
    /// Integer of 8 bits.
    I8,
    /// Unsigned integer of 16 bits.
    U16,
    /// Unsigned integer of 8 bits.
    U8,
    /// One byte: 0 or 1.
    Bool,
}

impl Element {
    /// Bytes of one value.
    pub fn size(self) -> usize {
        match self {
            Self::F64 | Self::I64 => 8,
            Self::F32 | Self::I32 => 4,
            Self::F16 | Self::I16 | Self::U16 => 2,
            Self::I8 | Self::U8 | Self::Bool => 1,
        }
    }

    /// Whether each value of this type is one of `other` too.
    pub fn is_exact_as(self, other: Self) -> bool {
        let is_float = |element| matches!(element, Self::F64 | Self::F32 | Self::F16);
        self == other || is_float(self) && is_float(other) && self.size() < other.size()
    }

    /// The value at the beginning of `bytes`, as [`crate::Model::read_f64`] reads it; 0 if `bytes` is too short.
    pub fn value(self, bytes: &[u8]) -> f64 {
        fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
            bytes.first_chunk().copied().unwrap_or([0; N])
        }
        match self {
            Self::F64 => f64::from_le_bytes(first(bytes)),
            Self::F32 => f32::from_le_bytes(first(bytes)).into(),
            Self::F16 => half::to_f32(u16::from_le_bytes(first(bytes))).into(),
            Self::I64 => i64::from_le_bytes(first(bytes)) as f64,
            Self::I32 => i32::from_le_bytes(first(bytes)).into(),
            Self::I16 => i16::from_le_bytes(first(bytes)).into(),
            Self::I8 => i8::from_le_bytes(first(bytes)).into(),
            Self::U16 => u16::from_le_bytes(first(bytes)).into(),
            Self::U8 | Self::Bool => first::<1>(bytes)[0].into(),
        }
    }

    /// `value` in this type, in the first bytes. `None` if it does not fit, or if this is a type of floats.
    pub(crate) fn of_int(self, value: i64) -> Option<[u8; 8]> {
        let fits = match self {
            Self::I64 => true,
            Self::I32 => i32::try_from(value).is_ok(),
            Self::I16 => i16::try_from(value).is_ok(),
            Self::I8 => i8::try_from(value).is_ok(),
            Self::U16 => u16::try_from(value).is_ok(),
            Self::U8 => u8::try_from(value).is_ok(),
            // Compat: Caffe2 takes any other number for true.
            Self::Bool => return Some(i64::from(value != 0).to_le_bytes()),
            Self::F64 | Self::F32 | Self::F16 => false,
        };
        fits.then(|| value.to_le_bytes())
    }
}

impl fmt::Display for Element {
    /// Writes NumPy's name of the type.
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.pad(match self {
            Self::F64 => "float64",
            Self::F32 => "float32",
            Self::F16 => "float16",
            Self::I64 => "int64",
            Self::I32 => "int32",
            Self::I16 => "int16",
            Self::I8 => "int8",
            Self::U16 => "uint16",
            Self::U8 => "uint8",
            Self::Bool => "bool",
        })
    }
}
