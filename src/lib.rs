//! Caffe's `SyncedMemory` as a library of its own, for an unmodified Caffe and for every language with an FFI.
//!
//! A `SyncedMemory` is a buffer with a host side and a device side: each is allocated when it is first touched,
//! and copied only when the other side is newer. This crate builds `libsyncedmem.so` and `libsyncedmem.a`, which
//! export it twice: as the C++ symbols that Caffe's objects import ([`abi::caffe`]), and as a C API
//! ([`abi::c`], `include/syncedmem.h`). Both work on the same objects. [`abi::model`] (`include/syncedmem_model.h`) reads model files.
//!
//! # The rooms
//! ```text
//! abi        what others link: the C++ symbols, the C API, the last error
//! process    fork: the order of all locks
//! caffe2     Caffe2's tensors, typed blobs and workspaces
//! models     model files: open, and their values as contents of objects
//! blob       Caffe's Blob: a shape, data and diff; its math on the host and on the device
//! object     SyncedMemory: access, claims, set_data, transfers, eviction, DLPack, trim and report of the whole
//! copy       one copy between the sides: direct, or staged by several threads through page-locked buffers
//! memory     where a block comes from and goes: the C library, mappings, the driver; what is kept for reuse
//! cuda       the driver: found at run time, typed entry points, contexts, streams, events
//! caffe      the Caffe in this process, and what Caffe::mode() says
//! observe    what the library records: events, the trace's file, call counts, call sites, ranges of a profiler
//! state      the word of an object, the gate of the fast path, the flags that close it
//! settings   the environment
//! error      errors and their sentences
//! platform   locks, threads, files, limits, text, loaded objects
//! ```
//! A room uses those below it and none above it; `tests/project/arrows.rs` checks that. The head, the kinds of memory and the events
//! are in the crate `syncedmem_trace`, and their evaluation in `syncedmem_analysis`: both compute, and have no unsafe code.
#![deny(unsafe_code)]
// The library is its exported symbols; the modules are public so that tests and the documentation reach them.

pub mod abi;
#[cfg(feature = "blob")]
mod blob;
mod caffe;
#[cfg(feature = "caffe2")]
pub mod caffe2;
mod copy;
mod cuda;
pub mod error;
mod memory;
#[cfg(feature = "blob")]
pub mod models;
pub mod object;
pub mod observe;
pub mod platform;
mod process;
mod settings;
pub mod state;
