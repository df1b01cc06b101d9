//! The exported functions, and the shared library as a file.
#![expect(
    clippy::undocumented_unsafe_blocks,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test plays the foreign caller, and answers for what it passes"
)]

#[macro_use]
extern crate test_attribute;

mod arguments;
mod device_status;
mod discipline;
mod library;
mod named_files;
#[path = "../support/mod.rs"]
mod support;
mod surroundings;

fn main() -> std::process::ExitCode {
    support::harness::run()
}
