//! Choices that hold for the whole process. Each wins over its environment variable.
#![expect(unsafe_code, reason = "C functions")]

use super::call;
use super::pointers::Out;
use crate::abi::caffe::callback;
use crate::abi::status::syncedmem_status_t;
use crate::caffe;
use crate::error::Error;
use crate::settings::{self, Choice};
use crate::state::flags::{self, MAY_PIN};

pub use crate::abi::caffe::callback::syncedmem_error_callback_t;
pub use crate::caffe::syncedmem_mode_callback_t;

/// What `Caffe::mode()` is taken to be.
#[expect(non_camel_case_types, reason = "the names of the C API")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum syncedmem_mode_t {
    /// What the Caffe in the process says.
    SYNCEDMEM_MODE_AUTO = 0,
    /// CPU mode.
    SYNCEDMEM_MODE_CPU = 1,
    /// GPU mode.
    SYNCEDMEM_MODE_GPU = 2,
}

/// When host memory of objects is page-locked. Where it cannot be, it is pageable, and that is no error.
#[expect(non_camel_case_types, reason = "the names of the C API")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum syncedmem_pinning_t {
    /// In GPU mode.
    SYNCEDMEM_PIN_AUTO = 0,
    /// Always.
    SYNCEDMEM_PIN_ALWAYS = 1,
    /// Never.
    SYNCEDMEM_PIN_NEVER = 2,
}

/// What a failure in a C++ entry point does after it was reported. C functions return a status in any case.
#[expect(non_camel_case_types, reason = "the names of the C API")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum syncedmem_error_policy_t {
    /// `abort()`, as Caffe did.
    SYNCEDMEM_ON_ERROR_ABORT = 0,
    /// `std::bad_alloc` when memory ran out, `std::runtime_error` for the rest: those of the C++ runtime that the calling program
    /// or library uses, libstdc++ or libc++. A runtime that is linked in statically is found only where it is exported
    /// (`-rdynamic`). Where it is not, no other is taken: the process ends by `abort()`, after a sentence that says so. There, throw
    /// from a callback: `syncedmem_set_error_callback`.
    SYNCEDMEM_ON_ERROR_THROW = 1,
}

/// Chooses by number, for a C function of that name.
pub(super) fn set(name: &str, choice: &Choice, number: i32, what: &'static str) -> syncedmem_status_t {
    call(name, || {
        let known = usize::try_from(number).is_ok_and(|index| choice.set(index));
        known.then_some(()).ok_or(Error::InvalidArgument { what })
    })
}

/// Writes the number in force to what is, for C, a variable of the enumeration's type.
///
/// # Safety
/// `number` is NULL or writable.
pub(super) unsafe fn get(name: &str, choice: &Choice, number: *mut i32) -> syncedmem_status_t {
    call(name, || {
        // SAFETY: the caller guarantees it.
        let out = unsafe { Out::new(number) }?;
        out.set(choice.get() as i32);
        Ok(())
    })
}

/// Says what `Caffe::mode()` is taken to be: a `syncedmem_mode_t`. Wins over `SYNCEDMEM_MODE`.
///
/// Errors: `INVALID_ARGUMENT` (another number).
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_set_mode(mode: i32) -> syncedmem_status_t {
    let what = "mode is not a syncedmem_mode_t; pass SYNCEDMEM_MODE_AUTO (0), SYNCEDMEM_MODE_CPU (1) or \
                SYNCEDMEM_MODE_GPU (2)";
    let status = set("syncedmem_set_mode", &settings::MODE, mode, what);
    flags::raise_if(true, MAY_PIN);
    status
}

/// Writes the `syncedmem_mode_t` in force to `*mode`.
///
/// Errors: `INVALID_ARGUMENT` (NULL or misaligned).
///
/// # Safety
/// `mode` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_get_mode(mode: *mut syncedmem_mode_t) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { get("syncedmem_get_mode", &settings::MODE, mode.cast()) }
}

/// Registers what is asked for `Caffe::mode()` instead of looking into the process's Caffe; NULL for nothing. For a
/// Caffe that cannot be looked into, such as one linked into a program that does not export its symbols: a function
/// that returns `caffe::Caffe::mode()`, compiled with that Caffe's headers.
///
/// It is called on the allocating thread with nothing held, before a new host block, and gets `user`. It returns 0 for
/// CPU and 1 for GPU; anything else counts as CPU. It must not throw. `SYNCEDMEM_MODE` and `syncedmem_set_mode` win
/// over it, unless they say auto.
///
/// Errors: `OUT_OF_MEMORY` (the one in force stays).
///
/// # Safety
/// `callback` and `user` stay usable for the rest of the process: a thread may be about to call them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_set_mode_callback(
    callback: syncedmem_mode_callback_t,
    user: *mut std::ffi::c_void,
) -> syncedmem_status_t {
    call("syncedmem_set_mode_callback", || {
        // SAFETY: the caller guarantees it.
        unsafe { caffe::set_callback(callback, user) }
    })
}

/// Says when host memory is page-locked from now on: a `syncedmem_pinning_t`. Wins over `SYNCEDMEM_PIN`.
///
/// Errors: `INVALID_ARGUMENT` (another number).
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_set_pinning(pinning: i32) -> syncedmem_status_t {
    let what = "pinning is not a syncedmem_pinning_t; pass SYNCEDMEM_PIN_AUTO (0), SYNCEDMEM_PIN_ALWAYS (1) or \
                SYNCEDMEM_PIN_NEVER (2)";
    let status = set("syncedmem_set_pinning", &settings::PIN, pinning, what);
    flags::raise_if(true, MAY_PIN);
    status
}

/// Writes the `syncedmem_pinning_t` in force to `*pinning`.
///
/// Errors: `INVALID_ARGUMENT` (NULL or misaligned).
///
/// # Safety
/// `pinning` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_get_pinning(pinning: *mut syncedmem_pinning_t) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { get("syncedmem_get_pinning", &settings::PIN, pinning.cast()) }
}

/// Says what failures in C++ entry points do from now on: a `syncedmem_error_policy_t`. Wins over
/// `SYNCEDMEM_ON_ERROR`.
///
/// Errors: `INVALID_ARGUMENT` (another number).
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_set_error_policy(policy: i32) -> syncedmem_status_t {
    let what = "policy is not a syncedmem_error_policy_t; pass SYNCEDMEM_ON_ERROR_ABORT (0) or \
                SYNCEDMEM_ON_ERROR_THROW (1)";
    set("syncedmem_set_error_policy", &settings::ON_ERROR, policy, what)
}

/// Writes the `syncedmem_error_policy_t` in force to `*policy`.
///
/// Errors: `INVALID_ARGUMENT` (NULL or misaligned).
///
/// # Safety
/// `policy` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_get_error_policy(policy: *mut syncedmem_error_policy_t) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { get("syncedmem_get_error_policy", &settings::ON_ERROR, policy.cast()) }
}

/// Registers what is called when a C++ entry point fails, before the error policy is followed; NULL for nothing.
/// C functions never call it.
///
/// It is called on the failing thread with nothing held, so it may use any object. It gets the status, the
/// message (which lives until it returns) and `user`. It may throw a C++ exception, but not `longjmp`; if it
/// returns, the policy is followed. A failure inside it is not reported to it again, and where there is no memory
/// to note that it runs, it is not called.
///
/// A callback that throws works with every C++ runtime, since the program's own code throws: it is the way to exceptions where
/// the runtime is linked in statically (`-static-libstdc++`), and the library finds none to throw with.
///
/// Errors: `OUT_OF_MEMORY` (the one in force stays).
///
/// # Safety
/// `callback` and `user` stay usable for the rest of the process: a thread may be about to call them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_set_error_callback(
    callback: syncedmem_error_callback_t,
    user: *mut std::ffi::c_void,
) -> syncedmem_status_t {
    call("syncedmem_set_error_callback", || {
        // SAFETY: the caller guarantees it.
        unsafe { callback::set(callback, user) }
    })
}
