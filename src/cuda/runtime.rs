//! The device that the calling thread has chosen in the CUDA runtime. The driver does not know it: before CUDA 12
//! `cudaSetDevice` makes no context current.
#![expect(unsafe_code, reason = "a function of the CUDA runtime, found by name")]

use std::ffi::{c_int, c_void};
use std::mem::transmute;

use crate::platform::cancel_guard::CancelGuard;
use crate::platform::loaded;

/// The device's ordinal; 0 without a runtime, or if the runtime fails.
pub fn chosen_device() -> c_int {
    type GetDevice = unsafe extern "C" fn(*mut c_int) -> c_int;
    let Some(function) = loaded::find(c"cudaGetDevice") else { return 0 };
    // SAFETY: the runtime's headers give the name this signature; the program keeps the runtime loaded that it uses.
    let get_device = unsafe { transmute::<*mut c_void, GetDevice>(function.as_ptr()) };
    // The runtime may initialise itself and read files, which are cancellation points.
    let _cancel_guard = CancelGuard::begin();
    let mut ordinal = 0;
    // SAFETY: `ordinal` is writable.
    let is_known = unsafe { get_device(&mut ordinal) } == 0;
    if is_known { ordinal.max(0) } else { 0 }
}
