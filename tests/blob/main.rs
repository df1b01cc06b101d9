//! Blobs: the rules of Caffe's Blob that are kept, the faults that are fixed, and the math.
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
mod device_math;
mod device_sequences;
mod device_unlike_caffe;
mod faults;
mod keeps;
#[path = "../support/mod.rs"]
mod support;
mod threads;
mod unlike_caffe;

fn main() -> std::process::ExitCode {
    support::harness::run()
}
