//! The events of libsyncedmem, their sums, and the format of its recordings.
//!
//! Nothing here has state or calls the system: the library, the reader of traces and the command use it.
#![forbid(unsafe_code)]
#![expect(missing_docs, reason = "used in this workspace alone: a comment stands where the name does not say it")]
#![expect(clippy::new_without_default, reason = "statics need functions that are const")]

pub mod account;
pub mod event;
pub mod recording;
