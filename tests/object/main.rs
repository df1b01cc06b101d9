//! Objects: states, claims, pins, tensors.
#![expect(
    clippy::undocumented_unsafe_blocks,
    clippy::unwrap_used,
    reason = "a test plays the foreign caller, and answers for what it passes"
)]

#[macro_use]
extern crate test_attribute;

mod arenas;
mod device_arenas;
mod device_check;
mod device_dlpack;
mod device_faults;
mod device_sequences;
mod device_threads;
mod dlpack;
mod dlpack_ends;
mod given_up;
mod parked;
mod parked_beside;
mod parked_twins;
#[path = "../support/mod.rs"]
mod support;

fn main() -> std::process::ExitCode {
    support::harness::run()
}
