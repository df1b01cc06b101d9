//! Settings of the whole process.

use crate::abi::arguments::out_number;
use crate::abi::caffe::callback;
use crate::abi::call::entry;
use crate::abi::status::syncedmem_status_t;
use crate::caffe;
use crate::error::Error;
use crate::settings::{self, Choice};
use crate::state::flags::{self, MAY_PIN};

pub use crate::abi::caffe::callback::syncedmem_error_callback_t;
pub use crate::caffe::syncedmem_mode_callback_t;

/// The mode assumed for `Caffe::mode()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum syncedmem_mode_t {
    /// The mode of the Caffe in the process.
    SYNCEDMEM_MODE_AUTO = 0,
    /// CPU mode.
    SYNCEDMEM_MODE_CPU = 1,
    /// GPU mode.
    SYNCEDMEM_MODE_GPU = 2,
}

/// When host memory is page-locked, if it can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum syncedmem_pinning_t {
    /// Page-locked in GPU mode.
    SYNCEDMEM_PIN_AUTO = 0,
    /// Page-locked always.
    SYNCEDMEM_PIN_ALWAYS = 1,
    /// Page-locked never.
    SYNCEDMEM_PIN_NEVER = 2,
}

/// What a failed C++ entry point does after its report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum syncedmem_error_policy_t {
    /// `abort()`, as Caffe did.
    SYNCEDMEM_ON_ERROR_ABORT = 0,
    /// Throws `std::bad_alloc` if memory ran out, else `std::runtime_error`, of the caller's C++ runtime (libstdc++ or
    /// libc++). A statically linked one is found only if it is exported (`-rdynamic`). Without one the process aborts:
    /// throw from `syncedmem_set_error_callback` instead.
    SYNCEDMEM_ON_ERROR_THROW = 1,
}

pub(super) fn set(choice: &Choice, number: i32, what: &'static str) -> Result<(), Error> {
    let known = usize::try_from(number).is_ok_and(|index| choice.set(index));
    known.then_some(()).ok_or(Error::InvalidArgument { what })
}

/// Sets the mode assumed for `Caffe::mode()`: a `syncedmem_mode_t`. Overrides `SYNCEDMEM_MODE`.
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_set_mode(mode: i32) -> syncedmem_status_t {
    let what = "mode is not a syncedmem_mode_t; pass SYNCEDMEM_MODE_AUTO (0), SYNCEDMEM_MODE_CPU (1) or \
                SYNCEDMEM_MODE_GPU (2)";
    entry!(|| {
        set(&settings::MODE, mode, what)?;
        flags::raise_if(true, MAY_PIN);
    })
}

/// Writes the current `syncedmem_mode_t` to `*mode`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_get_mode(mode: *mut syncedmem_mode_t) -> syncedmem_status_t {
    entry!(out_number(mode), |mode| mode.set(settings::MODE.get() as i32))
}

/// Registers a function that replaces the look into the process's Caffe; NULL removes it. It is for a Caffe that cannot
/// be found, such as one in a program that does not export its symbols, and returns `caffe::Caffe::mode()`.
///
/// It is called on the allocating thread, without locks, before a new host block. It returns 0 for CPU and 1 for GPU
/// (other numbers count as CPU), and does not throw. `SYNCEDMEM_MODE` and `syncedmem_set_mode` override it, unless they
/// are auto.
///
/// # Safety
/// `callback` and `user` stay usable for the rest of the process: a thread may be about to call them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_set_mode_callback(
    callback: syncedmem_mode_callback_t,
    user: *mut std::ffi::c_void,
) -> syncedmem_status_t {
    entry!(|| {
        // SAFETY: the C caller keeps `callback` and `user` usable for the rest of the process.
        unsafe { caffe::set_callback(callback, user) }?;
    })
}

/// Sets when host memory is page-locked from now on: a `syncedmem_pinning_t`. Overrides `SYNCEDMEM_PIN`.
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_set_pinning(pinning: i32) -> syncedmem_status_t {
    let what = "pinning is not a syncedmem_pinning_t; pass SYNCEDMEM_PIN_AUTO (0), SYNCEDMEM_PIN_ALWAYS (1) or \
                SYNCEDMEM_PIN_NEVER (2)";
    entry!(|| {
        set(&settings::PIN, pinning, what)?;
        flags::raise_if(true, MAY_PIN);
    })
}

/// Writes the current `syncedmem_pinning_t` to `*pinning`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_get_pinning(pinning: *mut syncedmem_pinning_t) -> syncedmem_status_t {
    entry!(out_number(pinning), |pinning| pinning.set(settings::PIN.get() as i32))
}

/// Sets what failed C++ entry points do: a `syncedmem_error_policy_t`. Overrides `SYNCEDMEM_ON_ERROR`.
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_set_error_policy(policy: i32) -> syncedmem_status_t {
    let what = "policy is not a syncedmem_error_policy_t; pass SYNCEDMEM_ON_ERROR_ABORT (0) or \
                SYNCEDMEM_ON_ERROR_THROW (1)";
    entry!(|| set(&settings::ON_ERROR, policy, what)?)
}

/// Writes the current `syncedmem_error_policy_t` to `*policy`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_get_error_policy(policy: *mut syncedmem_error_policy_t) -> syncedmem_status_t {
    entry!(out_number(policy), |policy| policy.set(settings::ON_ERROR.get() as i32))
}

/// Registers a function that is called when a C++ entry point fails, before the error policy applies; NULL removes it.
///
/// It is called on the failing thread, without locks; the message lives until it returns. It may use any object, and
/// throw an exception of any C++ runtime, also a statically linked one; it must not `longjmp`. It is not called for a
/// failure inside itself, nor without memory to note that it runs.
///
/// # Safety
/// `callback` and `user` stay usable for the rest of the process: a thread may be about to call them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_set_error_callback(
    callback: syncedmem_error_callback_t,
    user: *mut std::ffi::c_void,
) -> syncedmem_status_t {
    entry!(|| {
        // SAFETY: the C caller keeps `callback` and `user` usable for the rest of the process.
        unsafe { callback::set(callback, user) }?;
    })
}
