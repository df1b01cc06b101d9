//! Copies between the sides, direct and in flight.
#![expect(
    clippy::undocumented_unsafe_blocks,
    clippy::unwrap_used,
    reason = "a test plays the foreign caller, and answers for what it passes"
)]

#[macro_use]
extern crate test_attribute;

mod device_in_flight;
mod device_traffic;
#[path = "../support/mod.rs"]
mod support;

fn main() -> std::process::ExitCode {
    support::harness::run()
}
