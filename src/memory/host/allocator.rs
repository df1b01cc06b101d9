//! The functions of an allocator of the program's own, whose blocks take the place of all others of the host.
#![expect(unsafe_code, reason = "functions of the program's are called")]

use std::ffi::c_void;
use std::ptr::NonNull;

use crate::cuda::context;
use crate::error::Cause;
use crate::memory::malloc::ALIGNMENT;
use crate::platform::cancel_guard::CancelGuard;

/// See `syncedmem_host_allocator_t`. They are called without a lock, because they may use the library.
#[derive(Clone, Copy, Debug)]
pub struct Functions {
    pub allocate: unsafe extern "C-unwind" fn(usize, usize, *mut c_void) -> *mut c_void,
    pub release: unsafe extern "C-unwind" fn(*mut c_void, usize, *mut c_void),
    pub context: *mut c_void,
    /// Whether `allocate` returns zeros.
    pub zeroed: bool,
}

impl Functions {
    /// # Safety
    /// The functions keep the contract of [`super::set_allocator`].
    pub unsafe fn allocate(self, bytes: usize) -> Result<NonNull<c_void>, Cause> {
        let _cancel_guard = CancelGuard::begin();
        // SAFETY: the caller of `set_allocator` guarantees that any thread may call the function.
        let block = context::outside(|| unsafe { (self.allocate)(bytes, ALIGNMENT, self.context) });
        let address = NonNull::new(block).ok_or(Cause::Allocator)?;
        if address.addr().get() % ALIGNMENT == 0 {
            return Ok(address);
        }
        // SAFETY: no object refers to it.
        unsafe { self.release(address, bytes) };
        Err(Cause::Misaligned)
    }

    /// # Safety
    /// `allocate` returned the block for so many bytes, and nothing uses it any more.
    pub unsafe fn release(self, address: NonNull<c_void>, bytes: usize) {
        let _cancel_guard = CancelGuard::begin();
        // SAFETY: the caller of `set_allocator` guarantees that any thread may call the function.
        context::outside(|| unsafe { (self.release)(address.as_ptr(), bytes, self.context) });
    }
}
