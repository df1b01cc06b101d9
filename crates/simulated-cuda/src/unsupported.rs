//! Entry points of what a simulated device cannot do: it loads no compiled code. They exist so that a program that looks for
//! them starts, and say NOT_SUPPORTED.
#![expect(unsafe_code, reason = "entry points have C names")]

use std::ffi::{c_int, c_uint};

use crate::abi::{Address, Handle, NOT_SUPPORTED};
use crate::log::enter;

fn refuse(function: &'static str) -> c_int {
    enter(function, |_| Err(NOT_SUPPORTED))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleLoad(_module: Address, _file: Address) -> c_int {
    refuse("cuModuleLoad")
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleLoadDataEx(
    _module: Address,
    _image: Address,
    _count: c_uint,
    _options: Address,
    _values: Address,
) -> c_int {
    refuse("cuModuleLoadDataEx")
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleGetGlobal_v2(_address: Address, _bytes: Address, _module: Handle, _name: Address) -> c_int {
    refuse("cuModuleGetGlobal_v2")
}
