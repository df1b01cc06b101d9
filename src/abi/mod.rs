//! The exported functions: Caffe's C++ symbols, and the C API of each header. Only the form of a failure is decided
//! here. The body of each C function is one `entry!` (`call.rs`).
//!
//! SAFETY lines name one of two contracts:
//! - "The C caller" is the program that calls a C function. It keeps the rules of the paragraph "Pointers" at the top of
//!   `syncedmem.h` (cbindgen.toml) until the call returns, and those of the function's own `# Safety`.
//! - "C++" calls a member function of a live `caffe::SyncedMemory`, with arguments as the original's contract asks.
#![expect(non_camel_case_types, reason = "the names of the C API")]
#![expect(clippy::missing_safety_doc, reason = "the header says it once for all functions")]

mod arguments;
#[cfg(feature = "blob")]
pub mod blob;
pub mod c;
pub mod caffe;
#[cfg(feature = "caffe2")]
pub mod caffe2;
mod call;
#[cfg(any(feature = "blob", feature = "caffe2"))]
pub mod element;
mod guard;
#[cfg(feature = "blob")]
mod handle;
#[cfg(feature = "blob")]
pub mod model;
#[doc(hidden)]
pub mod net;
mod per_thread;
pub mod status;

use crate::error::Error;
