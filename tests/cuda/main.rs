//! The driver: contexts, devices, captures and resets.
#![expect(
    clippy::undocumented_unsafe_blocks,
    clippy::unwrap_used,
    reason = "a test plays the foreign caller, and answers for what it passes"
)]

#[macro_use]
extern crate test_attribute;

mod device_capture;
mod device_capture_beside;
mod device_contexts;
mod device_dead_contexts;
mod device_defaults;
mod device_identity;
mod device_resets;
#[path = "../support/mod.rs"]
mod support;

fn main() -> std::process::ExitCode {
    support::harness::run()
}
