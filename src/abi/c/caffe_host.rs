//! Caffe's two host allocation functions, for C.

use std::ffi::c_void;

use crate::abi::arguments::out;
use crate::abi::call::entry;
use crate::abi::status::syncedmem_status_t;
use crate::memory::host::caffe_host;

/// Allocates `size` bytes of host memory, aligned to 64, with undefined contents. Writes the address to `*ptr`, which is
/// not NULL for size 0 either, and to `*use_cuda` whether the memory is page-locked: in GPU mode, if the driver can. Free
/// it with `CaffeFreeHost`; `cudaFreeHost` takes page-locked memory too, and `free()` other memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn CaffeMallocHost(
    ptr: *mut *mut c_void,
    size: usize,
    use_cuda: *mut bool,
) -> syncedmem_status_t {
    entry!(out(ptr), out(use_cuda), |address, pinned| {
        let block = caffe_host::malloc(size)?;
        address.set(block.address.as_ptr());
        pinned.set(block.pinned);
    })
}

/// Frees memory of `CaffeMallocHost`, `malloc()` or `cudaMallocHost`. `use_cuda` is the value that `CaffeMallocHost`
/// wrote, false for `malloc()`, true for `cudaMallocHost`. Page-locked memory stays if there is no driver to unlock it:
/// at exit, and in a forked child.
///
/// Errors: `DRIVER` (not such memory).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn CaffeFreeHost(ptr: *mut c_void, use_cuda: bool) -> syncedmem_status_t {
    entry!(|| {
        // SAFETY: the C caller passes memory of `CaffeMallocHost`, `malloc()` or `cudaMallocHost`, and does not use it again.
        unsafe { caffe_host::free(ptr, use_cuda) }?;
    })
}
