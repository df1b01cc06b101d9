//! Memory of `CPUContext::New`: zeros, aligned, counted in the account, and freed by its address.
#![expect(unsafe_code, reason = "an object's address is kept before the memory that it owns")]

use std::ffi::c_void;
use std::ptr::NonNull;

use syncedmem_core::head::{Access, Side};

use super::error::Error;
use crate::memory::malloc::ALIGNMENT;
use crate::object::SyncedMemory;

/// Bytes before the memory, which begin with the address of its object.
const HEADER: usize = ALIGNMENT;

/// Allocates `bytes` of zeros, aligned to 64.
pub fn allocate(bytes: usize) -> Result<NonNull<c_void>, Error> {
    let all = bytes.saturating_add(HEADER);
    let object = SyncedMemory::create_at_host(all, true)?;
    // SAFETY: the object is new and lives.
    let block = unsafe { object.as_ref() }.data(Access::Write, Side::Host)?.cast::<NonNull<SyncedMemory>>();
    // SAFETY: the block has at least `HEADER` bytes, aligned to 64.
    unsafe { block.write(object) };
    NonNull::new(block.wrapping_byte_add(HEADER).cast()).ok_or(Error::Own(crate::error::Error::Internal))
}

/// # Safety
/// `data` came from `allocate`, and is not used again.
pub unsafe fn free(data: NonNull<c_void>) {
    let header = data.as_ptr().wrapping_byte_sub(HEADER).cast::<NonNull<SyncedMemory>>();
    // SAFETY: `allocate` wrote the object's address there.
    let object = unsafe { header.read() };
    // SAFETY: the object lives until this call.
    let object = unsafe { object.as_ref() };
    // SAFETY: the caller of `free` does not use the memory, and so the object, again.
    let _ = unsafe { object.destroy() };
}
