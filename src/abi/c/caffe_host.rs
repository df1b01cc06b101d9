//! Caffe's two host allocation functions, under their own names, for C.
#![expect(unsafe_code, reason = "C functions")]

use std::ffi::c_void;

use crate::abi::arguments::Out;
use crate::abi::call::call;
use crate::abi::status::syncedmem_status_t;
use crate::memory::host::caffe_host;

/// Allocates `size` bytes of host memory, aligned to 64, with undefined contents. Writes the address to `*ptr`, and to
/// `*use_cuda` whether it is page-locked.
///
/// In GPU mode it is page-locked if the driver can; free it then with `CaffeFreeHost` or `cudaFreeHost`, else with
/// `CaffeFreeHost` or `free()`. For size 0 the address is not NULL, and is freed too.
///
/// Errors: `INVALID_ARGUMENT` (NULL), `OUT_OF_MEMORY`.
///
/// # Safety
/// `ptr` and `use_cuda` are NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn CaffeMallocHost(
    ptr: *mut *mut c_void,
    size: usize,
    use_cuda: *mut bool,
) -> syncedmem_status_t {
    call("CaffeMallocHost", || {
        // SAFETY: the caller guarantees it.
        let out = unsafe { Out::new(ptr) }?;
        // SAFETY: the caller guarantees it.
        let pinned = unsafe { Out::new(use_cuda) }?;
        let block = caffe_host::malloc(size)?;
        out.set(block.address.as_ptr());
        pinned.set(block.pinned);
        Ok(())
    })
}

/// Frees memory of `CaffeMallocHost`, `malloc()` or `cudaMallocHost`. `use_cuda` is the value that `CaffeMallocHost`
/// wrote, false for `malloc()`, true for `cudaMallocHost`. NULL is allowed and does nothing. Page-locked memory stays
/// if there is no driver to unlock it: at exit, and in a forked child.
///
/// Errors: `DRIVER` (not such memory), `PENDING`.
///
/// # Safety
/// `ptr` is NULL or came from one of them, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn CaffeFreeHost(ptr: *mut c_void, use_cuda: bool) -> syncedmem_status_t {
    call("CaffeFreeHost", || {
        // SAFETY: the caller guarantees it.
        unsafe { caffe_host::free(ptr, use_cuda) }
    })
}
