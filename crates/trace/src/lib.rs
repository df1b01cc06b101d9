//! The vocabulary of libsyncedmem, and the format of its recordings.
//!
//! Nothing here has state or calls the system: the library, the analysis and the command all use it.
#![forbid(unsafe_code)]
#![expect(missing_docs, reason = "used in this workspace alone: a comment stands where the name does not say it")]
#![expect(clippy::new_without_default, reason = "statics need functions that are const")]

pub mod account;
pub mod address_hash;
pub mod date;
pub mod event;
pub mod head;
pub mod kind;
pub mod names;
pub mod recording;
pub mod text;
