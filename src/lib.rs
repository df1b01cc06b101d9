//! Caffe's `SyncedMemory` as a library of its own, for an unmodified Caffe and for every language with an FFI.
//!
//! A `SyncedMemory` is a buffer with a host side and a device side: each is allocated when it is first touched,
//! and copied only when the other side is newer. This crate builds `libsyncedmem.so` and `libsyncedmem.a`, which
//! export it twice: as the C++ symbols that Caffe's objects import ([`ffi::caffe`]), and as a C API
//! ([`ffi::c`], `include/syncedmem.h`). Both work on the same objects.
//!
//! # How it is laid out
//! ```text
//! ffi::{c, caffe}  →  synced, pools, host (for CaffeMallocHost), cuda (whether there is one), caffe_mode, calls, report, observe
//! synced           →  head, host, device, dlpack (tensors as others know them), cuda (the driver, or why there is none), pools (when memory runs out), sync
//! report           →  what host, cuda, stats and observe know about memory, and what synced gave back of it
//! synced, host, device, cuda  →  observe::live (what happens is told there), which calls none of them
//! pools            →  host, cuda, device: what lies idle of every kind, as one
//! device           →  cuda
//! host             →  cuda (page-locked blocks), caffe_mode, stats, sync
//! host, cuda       →  idle (blocks that nobody holds, by size), budget, mapping
//! host             →  ageing (gives pageable blocks back that have lain idle for long)
//! cuda, caffe_mode, host, ffi::caffe →  loaded (the objects in the process), sync
//! everything       →  error, text, settings
//! ```
//! [`head`] is the state machine, as pure functions. [`synced`] is the only place that decides to allocate, copy or
//! evict. `host` and `device` know where memory comes from and how it is given back, `host::pool` and `cuda::pool` keep
//! what was given back for the next object, `cuda` is the driver, which is looked for at run time, and `caffe_mode` finds
//! out what `Caffe::mode()` says. [`observe`] makes an account, a trace and advice of what the others tell it; the `syncedmem`
//! command (`src/bin/syncedmem`) makes the same of a trace.
#![deny(unsafe_code)]
// The library is its exported symbols; the modules are public so that tests and the documentation reach them.

mod ageing;
mod budget;
mod caffe_mode;
mod calls;
mod cuda;
mod device;
mod dlpack;
pub mod error;
pub mod ffi;
mod file;
mod given_back;
pub mod head;
mod host;
mod idle;
pub mod kind;
pub mod limits;
mod loaded;
mod local_time;
mod mapping;
pub mod observe;
mod pools;
mod registered;
mod report;
mod settings;
mod spread;
mod stats;
mod sync;
pub mod synced;
mod text;
mod thread;
mod uncancelled;
