//! DLPack: the structures of version 1.0, and `DLManagedTensor` from before it, as in `dlpack.h` (dmlc/dlpack).
//!
//! `export` and `import` know tensors only; `tensors` is their part of an object's entry, and `exchange` has the methods of
//! `SyncedMemory`.

pub(crate) mod exchange;
pub(crate) mod export;
pub(crate) mod import;
pub mod tensors;

use std::ffi::c_void;

use crate::error::Error;
pub use export::{Blank, Holding, Layout, Memory};
pub use import::{Imported, delete};

/// `DLDevice`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// `DLDeviceType`.
    pub kind: i32,
    pub ordinal: i32,
}

pub const CPU: i32 = 1;
pub const CUDA: i32 = 2;
/// Page-locked host memory.
pub const CUDA_HOST: i32 = 3;
pub const CUDA_MANAGED: i32 = 13;

/// `DLDataType`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataType {
    /// `DLDataTypeCode`.
    pub code: u8,
    /// Bits of one lane. An element has `lanes` lanes.
    pub bits: u8,
    pub lanes: u16,
}

fn wrong(what: &'static str) -> Error {
    Error::InvalidArgument { what }
}

impl DataType {
    /// The one-lane type, if it is plain data of whole bytes: not a handle, which is valid only in its process.
    pub fn new(code: u8, bits: u8) -> Result<DataType, Error> {
        let known = match code {
            // Integers.
            0 | 1 => matches!(bits, 8 | 16 | 32 | 64),
            // IEEE floats, and x86's long double in 16 bytes.
            2 => matches!(bits, 16 | 32 | 64 | 128),
            // bfloat16.
            4 => bits == 16,
            // Complex numbers.
            5 => matches!(bits, 32 | 64 | 128),
            // Booleans of one byte, and the eight floats of one byte.
            6..=14 => bits == 8,
            _ => false,
        };
        known.then_some(DataType { code, bits, lanes: 1 }).ok_or(wrong(
            "type_code and type_bits are not a type of DLPack's that takes whole bytes; pass kDLInt (0), kDLUInt (1), kDLFloat (2), \
             kDLBfloat (4), kDLComplex (5), kDLBool (6) or kDLFloat8 (7 to 14), and the bits of one element",
        ))
    }
}

/// `DLTensor`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Tensor {
    pub data: *mut c_void,
    pub device: Device,
    pub dimensions: i32,
    pub data_type: DataType,
    pub shape: *mut i64,
    /// Strides in elements. NULL means contiguous in C order.
    pub strides: *mut i64,
    /// Offset of the first element, in bytes.
    pub byte_offset: u64,
}

/// The deleter's argument is the tensor, of either kind.
pub type Deleter = unsafe extern "C-unwind" fn(*mut c_void);

/// `DLManagedTensor`, from before DLPack 1.0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Managed {
    pub tensor: Tensor,
    /// The maker's own value.
    pub context: *mut c_void,
    pub deleter: Option<Deleter>,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ManagedVersioned {
    pub major: u32,
    pub minor: u32,
    pub context: *mut c_void,
    pub deleter: Option<Deleter>,
    pub flags: u64,
    pub tensor: Tensor,
}

const _: () = {
    use std::mem::offset_of;
    assert!(size_of::<Tensor>() == 48 && offset_of!(Tensor, shape) == 24);
    assert!(size_of::<Managed>() == 64 && offset_of!(Managed, deleter) == 56);
    assert!(size_of::<ManagedVersioned>() == 80 && offset_of!(ManagedVersioned, tensor) == 32);
};

/// `DLPACK_FLAG_BITMASK_READ_ONLY`.
pub const READ_ONLY: u64 = 1;
const MAJOR: u32 = 1;
const MINOR: u32 = 0;
/// NumPy's limit, the highest of the known libraries.
const MOST_DIMENSIONS: usize = 64;
