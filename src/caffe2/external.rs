//! A caller's memory as a side of an object, which calls the deleter once nothing refers to the memory.
#![expect(unsafe_code, reason = "a deleter of the caller's is called")]

use std::ffi::c_void;
use std::ptr::NonNull;

use syncedmem_core::head::Side;

use super::error::Error;
use super::typemeta::syncedmem_deleter_t;
use crate::object::SyncedMemory;
use crate::object::dlpack::{CPU, CUDA, DataType, Device, Managed, Tensor};

/// A pointer of the caller's, and the function that ends its use.
#[derive(Clone, Copy)]
pub struct Foreign {
    pub pointer: NonNull<c_void>,
    pub deleter: syncedmem_deleter_t,
    pub context: *mut c_void,
}

/// The tensor of DLPack that an object borrows.
#[repr(C)]
struct External {
    managed: Managed,
    shape: i64,
    memory: Foreign,
}

impl Foreign {
    /// Makes the memory a side of `object`; after an error it stays the caller's.
    ///
    /// # Safety
    /// The contract "Foreign" of `Storage::external`.
    pub unsafe fn give_to(self, object: &SyncedMemory, bytes: usize, side: Side) -> Result<(), Error> {
        if self.deleter.is_none() {
            // SAFETY: the caller of `give_to` keeps the contract "Foreign"; the object is new and owns no block.
            unsafe { object.set_data(side, self.pointer.as_ptr()) }?;
            return Ok(());
        }
        let asked = size_of::<External>();
        // SAFETY: malloc has no preconditions; its memory is aligned to 16.
        let block = NonNull::new(unsafe { libc::malloc(asked) }).ok_or(Error::out_of_memory(asked))?.cast::<External>();
        let shape = block.as_ptr().wrapping_byte_add(std::mem::offset_of!(External, shape)).cast();
        let kind = if side == Side::Host { CPU } else { CUDA };
        let tensor = Tensor {
            data: self.pointer.as_ptr(),
            // The driver finds the device by the address.
            device: Device { kind, ordinal: 0 },
            dimensions: 1,
            // DLPack's unsigned integers of 8 bits.
            data_type: DataType { code: 1, bits: 8, lanes: 1 },
            shape,
            strides: std::ptr::null_mut(),
            byte_offset: 0,
        };
        let managed = Managed { tensor, context: block.as_ptr().cast(), deleter: Some(take_back) };
        // `shape::bytes` allows at most isize::MAX bytes.
        let external = External { managed, shape: bytes as i64, memory: self };
        // SAFETY: malloc allocated the block for an `External`.
        unsafe { block.write(external) };
        // SAFETY: the caller of `give_to` keeps the contract "Foreign"; the tensor describes that memory.
        unsafe { object.set_tensor(block.cast(), false) }.inspect_err(|_| {
            // SAFETY: the block is malloc's; the object did not take the tensor.
            unsafe { libc::free(block.as_ptr().cast()) };
        })?;
        Ok(())
    }
}

unsafe extern "C-unwind" fn take_back(tensor: *mut c_void) {
    // SAFETY: the object passes the tensor of `give_to`.
    let Foreign { pointer, deleter, context } = unsafe { tensor.cast::<External>().read() }.memory;
    // SAFETY: `give_to` took the block from malloc, and it is not used again.
    unsafe { libc::free(tensor) };
    if let Some(deleter) = deleter {
        // SAFETY: the C caller passed the deleter for this memory; it is called once.
        unsafe { deleter(pointer.as_ptr(), context) };
    }
}
