//! The C API of `include/syncedmem.h`. cbindgen.toml has its conventions.
#![expect(unsafe_code, reason = "C functions")]

pub mod access;
pub mod account;
pub mod caffe_host;
pub mod capsule;
pub mod cuda;
pub mod dlpack;
pub mod errors;
pub mod object;
pub mod policy;
pub mod pools;
pub mod stats;
pub mod trace;
pub mod transfer;

use crate::error::Error;
