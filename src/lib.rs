//! Caffe's `SyncedMemory` as a library of its own, for an unmodified Caffe and for every language with an FFI.
//!
//! A `SyncedMemory` is a buffer with a host side and a device side: each is allocated when it is first touched,
//! and copied only when the other side is newer. `libsyncedmem.so` and `libsyncedmem.a` export it twice, over the same
//! objects: as the C++ symbols that Caffe imports ([`abi::caffe`]), and as a C API ([`abi::c`], `include/syncedmem.h`).
//!
//! Each module is a room; `docs/architecture.md` is their map.
#![deny(unsafe_code)]
// The library is its exported symbols. The modules below `abi` are public for tests alone.

pub mod abi;
#[cfg(feature = "blob")]
mod blob;
mod caffe;
#[cfg(feature = "caffe2")]
mod caffe2;
mod copy;
mod cuda;
#[doc(hidden)]
pub mod error;
mod memory;
#[cfg(feature = "blob")]
mod models;
#[doc(hidden)]
pub mod object;
#[doc(hidden)]
pub mod observe;
#[doc(hidden)]
pub mod platform;
mod process;
mod settings;
#[doc(hidden)]
pub mod state;
