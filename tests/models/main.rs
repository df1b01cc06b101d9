//! Model files: opening, reading into objects, and failures.
#![expect(
    clippy::undocumented_unsafe_blocks,
    clippy::unwrap_used,
    reason = "a test plays the foreign caller, and answers for what it passes"
)]

#[macro_use]
extern crate test_attribute;

#[allow(dead_code, reason = "of this file, tests/process alone uses the counts of blocks by size")]
#[path = "../process/allocator.rs"]
mod allocator;
mod blob_files;
mod device_reading;
mod model_handles;
mod opened;
mod out_of_memory;
mod reading;
mod reading_faults;
mod refused_files;
#[path = "../support/mod.rs"]
mod support;
#[path = "../../crates/caffemodel/tests/support/mod.rs"]
mod wire;

fn main() -> std::process::ExitCode {
    support::harness::run()
}
