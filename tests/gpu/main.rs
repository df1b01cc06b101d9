//! The library on the driver that it calls, mainly for a real device, on which `scripts/gpu-check` runs these suites. On the
//! simulated driver sizes are small, and no time is judged.
#![expect(
    clippy::undocumented_unsafe_blocks,
    clippy::multiple_unsafe_ops_per_block,
    clippy::unwrap_used,
    reason = "a test plays the foreign caller, and answers for what it passes"
)]

#[macro_use]
extern crate test_attribute;

mod device_blocks;
mod device_bytes;
#[path = "../support/mod.rs"]
mod support;

fn main() -> std::process::ExitCode {
    support::harness::run()
}
