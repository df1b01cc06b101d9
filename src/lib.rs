//! Caffe's `SyncedMemory` as a library, for an unmodified Caffe and for every language with an FFI.
//!
//! It is exported twice, over the same objects: as the C++ symbols that Caffe imports ([`abi::caffe`]), and as a C API
//! ([`abi::c`], `include/syncedmem.h`). `docs/architecture.md` is the map of the rooms.
#![deny(unsafe_code)]
// Modules marked `doc(hidden)` are public only for the tests.

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
mod takeover;
