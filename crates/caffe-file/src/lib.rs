//! Caffe's `SyncedMemory` in an ELF file: which generation it is, and whether its functions can be replaced at their entries.
//!
//! The library asks before it takes over a Caffe in its process, and the command before it starts one. Nothing allocates.
#![expect(missing_docs, reason = "used in this workspace alone: a comment stands where the name does not say it")]
#![forbid(unsafe_code)]

pub mod entries;
pub mod generation;
#[cfg(feature = "hooks")]
pub mod hooks;
pub mod jump;
pub mod limit;
pub mod names;
