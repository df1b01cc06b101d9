//! Where a block comes from and goes: the host, the pools, the driver.
#![expect(
    clippy::undocumented_unsafe_blocks,
    clippy::unwrap_used,
    reason = "a test plays the foreign caller, and answers for what it passes"
)]

#[macro_use]
extern crate test_attribute;

mod clock;
mod device_full;
mod device_out_of_memory;
mod device_pinned;
mod device_pool;
mod device_pool_bounds;
mod device_pool_faults;
mod device_pool_in_use;
mod device_waits;
mod host_memory;
mod host_pool;
mod host_pool_bounds;
mod host_pool_cost;
mod host_pool_edges;
mod host_pool_fit;
mod host_pool_growth;
mod mappings;
#[path = "../support/mod.rs"]
mod support;

fn main() -> std::process::ExitCode {
    support::harness::run()
}
