//! Caffe's `SyncedMemory` as a library of its own, for an unmodified Caffe and for every language with an FFI.
//!
//! A `SyncedMemory` is a buffer with a host side and a device side: each is allocated when it is first touched,
//! and copied only when the other side is newer. This crate builds `libsyncedmem.so` and `libsyncedmem.a`, which
//! export it twice: as the C++ symbols that Caffe's objects import ([`abi::caffe`]), and as a C API
//! ([`abi::c`], `include/syncedmem.h`). Both work on the same objects. [`abi::model`] (`include/syncedmem_model.h`) reads model files.
//!
//! Each module is a room: `docs/architecture.md` is their map. A room uses those below it, as in that map, and none above it.
#![deny(unsafe_code)]
// The library is its exported symbols; the modules are public so that tests and the documentation reach them.

pub mod abi;
#[cfg(feature = "blob")]
mod blob;
mod caffe;
#[cfg(feature = "caffe2")]
mod caffe2;
mod copy;
mod cuda;
pub mod error;
mod memory;
#[cfg(feature = "blob")]
mod models;
pub mod object;
pub mod observe;
pub mod platform;
mod process;
mod settings;
pub mod state;
