//! Memory of `CPUContext::New`: aligned, zeros, counted, and freed by its address alone.
#![expect(unsafe_code, reason = "an object is kept before the memory that it owns")]

use std::ffi::c_void;
use std::ptr::NonNull;

use syncedmem_core::head::{Access, Side};

use super::error::Error;
use crate::memory::malloc::ALIGNMENT;
use crate::object::SyncedMemory;

/// Before the memory: the address of its object.
const HEADER: usize = ALIGNMENT;

/// `bytes` of zeros, aligned to 64.
pub fn allocate(bytes: usize) -> Result<NonNull<c_void>, Error> {
    let all = bytes.saturating_add(HEADER);
    let object = SyncedMemory::create_at_host(all, true)?;
    // SAFETY: it is new.
    let block = unsafe { object.as_ref() }.data(Access::Write, Side::Host)?.cast::<NonNull<SyncedMemory>>();
    // SAFETY: the block has room for it, aligned.
    unsafe { block.write(object) };
    NonNull::new(block.wrapping_byte_add(HEADER).cast()).ok_or(Error::Own(crate::error::Error::Internal))
}

/// # Safety
/// `data` came from `allocate`, and is not used again.
pub unsafe fn free(data: NonNull<c_void>) {
    let header = data.as_ptr().wrapping_byte_sub(HEADER).cast::<NonNull<SyncedMemory>>();
    // SAFETY: `allocate` wrote it there.
    let object = unsafe { header.read() };
    // SAFETY: it is live until now.
    let object = unsafe { object.as_ref() };
    // SAFETY: the caller gives the live object up.
    let _ = unsafe { object.destroy() };
}
