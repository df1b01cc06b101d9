//! `syncedmem model`.
#![expect(clippy::unwrap_used, reason = "a test")]

mod exported;
mod import;
mod running;
mod shown;
#[path = "../../../caffemodel/tests/support/mod.rs"]
mod support;
mod torch_names;
