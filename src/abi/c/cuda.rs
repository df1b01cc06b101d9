//! The GPU's status, and the device check.

use std::ffi::c_char;

use crate::abi::arguments::{optional_out, out};
use crate::abi::call::entry;
use crate::abi::status::syncedmem_status_t;
use crate::cuda;
use crate::settings;
use crate::state::fast_path;
use crate::state::flags::{self, CHECKED};

/// Loads the CUDA driver, and returns `NO_GPU` if it cannot be used. Writes a sentence to `*sentence`, unless that is
/// NULL: the driver's version and devices, or why there is no GPU and what to do. The string is static.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_cuda_status(sentence: *mut *const c_char) -> syncedmem_status_t {
    entry!(optional_out(sentence), |sentence| {
        let (answer, words) = cuda::status();
        sentence.set(|| words.as_ptr());
        answer?;
    })
}

/// Switches the device check of Caffe's DEBUG builds: a call gives `WRONG_DEVICE` if another device than that of the
/// object's own device block is current. Without it such calls succeed, and `syncedmem_device_mismatches` counts those
/// that called the driver. Overrides `SYNCEDMEM_CHECK_DEVICE`.
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_set_device_check(on: bool) -> syncedmem_status_t {
    entry!(|| {
        settings::CHECK_DEVICE.set(usize::from(on));
        flags::raise_if(on, CHECKED);
        fast_path::close();
    })
}

/// Writes to `*on` whether the device check is on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_get_device_check(on: *mut bool) -> syncedmem_status_t {
    entry!(out(on), |on| on.set(settings::checks_device()))
}

/// Writes to `*count` how many accesses that called the driver found another device current than that of the data.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_device_mismatches(count: *mut u64) -> syncedmem_status_t {
    entry!(out(count), |count| count.set(cuda::context::mismatches()))
}
