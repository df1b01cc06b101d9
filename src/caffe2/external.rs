//! A caller's memory as a tensor of DLPack: the object calls the deleter once nothing refers to the memory.
#![expect(unsafe_code, reason = "a deleter of the caller's is called")]

use std::ffi::c_void;
use std::ptr::NonNull;

use syncedmem_core::head::Side;

use super::error::Error;
use super::typemeta::syncedmem_deleter_t;
use crate::object::SyncedMemory;
use crate::object::dlpack::{CPU, CUDA, DataType, Device, Managed, Tensor};

#[derive(Clone, Copy)]
pub struct Lent {
    pub pointer: NonNull<c_void>,
    pub deleter: syncedmem_deleter_t,
    pub context: *mut c_void,
}

#[repr(C)]
struct External {
    managed: Managed,
    shape: i64,
    lent: Lent,
}

impl Lent {
    /// Makes the memory a side of `object`; after an error it stays the caller's.
    ///
    /// # Safety
    /// As for `SyncedMemory::set_data`.
    pub unsafe fn lend_to(self, object: &SyncedMemory, bytes: usize, side: Side) -> Result<(), Error> {
        if self.deleter.is_none() {
            // SAFETY: the caller guarantees it.
            unsafe { object.set_data(side, self.pointer.as_ptr()) }?;
            return Ok(());
        }
        let asked = size_of::<External>();
        // SAFETY: malloc has no preconditions; its memory is aligned to 16.
        let room = NonNull::new(unsafe { libc::malloc(asked) }).ok_or(Error::no_room(asked))?.cast::<External>();
        let shape = room.as_ptr().wrapping_byte_add(std::mem::offset_of!(External, shape)).cast();
        let kind = if side == Side::Host { CPU } else { CUDA };
        let tensor = Tensor {
            data: self.pointer.as_ptr(),
            // The driver knows the device by the address.
            device: Device { kind, ordinal: 0 },
            dimensions: 1,
            // Unsigned integers of 8 bits.
            data_type: DataType { code: 1, bits: 8, lanes: 1 },
            shape,
            strides: std::ptr::null_mut(),
            byte_offset: 0,
        };
        let managed = Managed { tensor, context: room.as_ptr().cast(), deleter: Some(take_back) };
        // `shape::bytes` keeps it below the sign.
        let external = External { managed, shape: bytes as i64, lent: self };
        // SAFETY: allocated for it.
        unsafe { room.write(external) };
        // SAFETY: the caller guarantees the memory.
        unsafe { object.set_tensor(room.cast(), false) }.inspect_err(|_| {
            // SAFETY: malloc made it; the object did not take it.
            unsafe { libc::free(room.as_ptr().cast()) };
        })?;
        Ok(())
    }
}

unsafe extern "C-unwind" fn take_back(tensor: *mut c_void) {
    // SAFETY: the tensor of `lend_to`.
    let Lent { pointer, deleter, context } = unsafe { tensor.cast::<External>().read() }.lent;
    // SAFETY: malloc made it, and it is not used again.
    unsafe { libc::free(tensor) };
    if let Some(deleter) = deleter {
        // SAFETY: the caller of `lend_to` guarantees it.
        unsafe { deleter(pointer.as_ptr(), context) };
    }
}
