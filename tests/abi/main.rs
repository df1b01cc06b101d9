//! The exported functions, and the shared library as a file.
#![expect(
    clippy::undocumented_unsafe_blocks,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test plays the foreign caller, and answers for what it passes"
)]

mod arguments;
mod device_status;
mod discipline;
mod library;
mod named_files;
#[path = "../support/mod.rs"]
mod support;
mod surroundings;

support::harness::suites![arguments, device_status, discipline, library, named_files, surroundings,];
