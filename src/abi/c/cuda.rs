//! The GPU: whether it can be used, and the device check.
#![expect(unsafe_code, reason = "C functions")]

use std::ffi::c_char;

use crate::abi::arguments::{Out, answer};
use crate::abi::call::call;
use crate::abi::status::syncedmem_status_t;
use crate::cuda;
use crate::settings;
use crate::state::fast_path;
use crate::state::flags::{self, CHECKED};

/// Loads the CUDA driver if that has not happened yet, and returns whether it can be used.
///
/// Writes a sentence to `*sentence`, unless that is NULL: the driver's version and devices, or why there is no GPU and
/// what to do. The string is static.
///
/// Errors: `NO_GPU`, `INVALID_ARGUMENT` (`sentence` is misaligned).
///
/// # Safety
/// `sentence` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_cuda_status(sentence: *mut *const c_char) -> syncedmem_status_t {
    call("syncedmem_cuda_status", || {
        let (answer, words) = cuda::status();
        if !sentence.is_null() {
            // SAFETY: the caller guarantees it.
            let out = unsafe { Out::new(sentence) }?;
            out.set(words.as_ptr());
        }
        answer
    })
}

/// Switches the device check, as in DEBUG builds of Caffe: every call compares the current device with that of the
/// object's device block, and gives `WRONG_DEVICE` if they differ. Overrides `SYNCEDMEM_CHECK_DEVICE`.
///
/// Without the check such a call succeeds, as in Caffe's release builds, and is counted if the driver was called: see
/// `syncedmem_device_mismatches`.
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_set_device_check(on: bool) -> syncedmem_status_t {
    call("syncedmem_set_device_check", || {
        settings::CHECK_DEVICE.set(usize::from(on));
        flags::raise_if(on, CHECKED);
        fast_path::close();
        Ok(())
    })
}

/// Writes to `*on` whether the device check is on.
///
/// Errors: `INVALID_ARGUMENT` (NULL).
///
/// # Safety
/// `on` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_get_device_check(on: *mut bool) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { answer("syncedmem_get_device_check", on, || Ok(settings::checks_device())) }
}

/// Writes to `*count` how many accesses found another device current than that of the data, among those that called the
/// driver.
///
/// Errors: `INVALID_ARGUMENT` (NULL or misaligned).
///
/// # Safety
/// `count` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_device_mismatches(count: *mut u64) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { answer("syncedmem_device_mismatches", count, || Ok(cuda::context::mismatches())) }
}
