/// The type of an array's elements. The numbers are those of `syncedmem_type_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum ElementType {
    Float32 = 0,
    Float64 = 1,
    /// IEEE 754 binary16.
    Float16 = 2,
    Int8 = 3,
    UInt8 = 4,
    Int16 = 5,
    UInt16 = 6,
    Int32 = 7,
    UInt32 = 8,
    Int64 = 9,
    /// One byte, 0 or 1.
    Bool = 10,
}

use ElementType::*;

impl ElementType {
    pub const ALL: [ElementType; 11] =
        [Float32, Float64, Float16, Int8, UInt8, Int16, UInt16, Int32, UInt32, Int64, Bool];

    const NAMES: [&'static str; 11] =
        ["float32", "float64", "float16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "bool"];

    pub const fn bytes(self) -> usize {
        match self {
            Int8 | UInt8 | Bool => 1,
            Float16 | Int16 | UInt16 => 2,
            Float32 | Int32 | UInt32 => 4,
            Float64 | Int64 => 8,
        }
    }

    /// NumPy's name of the type.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}
