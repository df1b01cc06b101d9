//! Copies between the sides: directly, through staging buffers, in flight.
#![expect(
    clippy::undocumented_unsafe_blocks,
    clippy::multiple_unsafe_ops_per_block,
    clippy::unwrap_used,
    reason = "a test plays the foreign caller, and answers for what it passes"
)]

mod device_in_flight;
mod device_staged;
mod device_staged_faults;
mod device_staged_threads;
mod device_traffic;
#[path = "../support/refusing.rs"]
mod refusing;
#[path = "../support/mod.rs"]
mod support;

support::harness::suites![device_in_flight, device_staged, device_staged_faults, device_staged_threads, device_traffic,];
