//! The device that the calling thread has chosen in the process's CUDA runtime: before CUDA 12 `cudaSetDevice` makes no
//! context current, so the driver does not know it.
#![expect(unsafe_code, reason = "a function of the CUDA runtime, found by name")]

use std::ffi::{c_int, c_void};
use std::mem::transmute;

use crate::platform::cancel_guard::CancelGuard;
use crate::platform::loaded;

/// The device's ordinal; `None` if no loaded object exports `cudaGetDevice`.
pub fn chosen_device() -> Option<c_int> {
    type GetDevice = unsafe extern "C" fn(*mut c_int) -> c_int;
    let function = loaded::find(c"cudaGetDevice")?.as_ptr();
    // SAFETY: the runtime's headers give the name this signature; the object stays mapped.
    let get_device = unsafe { transmute::<*mut c_void, GetDevice>(function) };
    // The runtime may initialise itself, and read files.
    let _cancel_guard = CancelGuard::begin();
    let mut ordinal = -1;
    // SAFETY: `ordinal` is writable.
    let failed = unsafe { get_device(&mut ordinal) } != 0;
    (!failed && ordinal >= 0).then_some(ordinal)
}
