//! The GPU: whether there is one, and whether objects are used where their data is.
#![expect(unsafe_code, reason = "C functions")]

use std::ffi::c_char;

use super::call;
use super::pointers::Out;
use crate::abi::status::syncedmem_status_t;
use crate::cuda;
use crate::settings;
use crate::state::fast_path;
use crate::state::flags::{self, CHECKED};

/// Looks for the CUDA driver, if nothing has yet, and says whether it can be used: success, or `NO_GPU`.
///
/// In either case a sentence is written to `*sentence`, unless that is NULL: the driver's version and the devices, or
/// why there is no GPU and what to do. The string lives for ever.
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

/// Says whether from now on every call looks at which device is current, and refuses with `WRONG_DEVICE` where the
/// object's device block is on another one: the check of the original's DEBUG builds. Wins over
/// `SYNCEDMEM_CHECK_DEVICE`.
///
/// Without it such a call is served, as in the original's release builds, and counted where the driver is called
/// anyway: see `syncedmem_device_mismatches`.
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
    call("syncedmem_get_device_check", || {
        // SAFETY: the caller guarantees it.
        unsafe { Out::new(on) }?.set(settings::checks_device());
        Ok(())
    })
}

/// Writes to `*count` how often data on one device was asked for while another was current, as far as the driver was
/// called for it.
///
/// Errors: `INVALID_ARGUMENT` (NULL or misaligned).
///
/// # Safety
/// `count` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_device_mismatches(count: *mut u64) -> syncedmem_status_t {
    call("syncedmem_device_mismatches", || {
        // SAFETY: the caller guarantees it.
        unsafe { Out::new(count) }?.set(cuda::context::mismatches());
        Ok(())
    })
}
