//! Memory of Caffe2's `CPUContext`, and the report of allocations.

use std::ffi::c_void;
use std::ptr::NonNull;

use crate::abi::arguments::out;
use crate::abi::call::entry;
use crate::abi::status::syncedmem_status_t;
use crate::caffe2::{cpu, report};

/// Allocates `bytes` of host memory, zeros aligned to 64 bytes, and writes its address to `*data`. The account counts it
/// with the memory of tensors, with 64 bytes more. Free it with `syncedmem_cpu_delete`.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_cpu_new(bytes: usize, data: *mut *mut c_void) -> syncedmem_status_t {
    entry!(out(data), |data| data.set(cpu::allocate(bytes).map(NonNull::as_ptr)?))
}

/// Frees memory of `syncedmem_cpu_new`.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_cpu_delete(data: *mut c_void) {
    entry!(|| {
        if let Some(data) = NonNull::new(data) {
            // SAFETY: the C caller passes memory of `syncedmem_cpu_new`, and does not use it again.
            unsafe { cpu::free(data) };
        }
    });
}

/// Switches Caffe2's report, off at first: a line on standard error for each block that a tensor allocates or frees,
/// with the bytes of all memory in the library's account, which is switched on too.
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_tensor_report_allocations(on: bool) -> syncedmem_status_t {
    entry!(|| report::set(on))
}
