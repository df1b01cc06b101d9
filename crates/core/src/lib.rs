//! The words that the library, its trace and its command share: where the newest data is, kinds of memory, text without
//! allocation, the limits on a process, the table of settings, and files that appear under their name when they are complete.
#![deny(unsafe_code)]
#![expect(missing_docs, reason = "used in this workspace alone: a comment stands where the name does not say it")]
#![expect(clippy::new_without_default, reason = "statics need functions that are const")]

pub mod address_hash;
pub mod date;
pub mod encoding;
pub mod head;
pub mod interned;
pub mod kind;
pub mod limits;
pub mod new_file;
pub mod settings;
pub mod text;
pub mod waited;
