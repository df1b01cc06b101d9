//! The process around the library: forks, signals, threads, and a malloc that fails.
#![expect(
    clippy::undocumented_unsafe_blocks,
    clippy::unwrap_used,
    reason = "a test plays the foreign caller, and answers for what it passes"
)]

#[macro_use]
extern crate test_attribute;

mod allocator;
mod device_fork;
mod faults;
mod fork;
mod fork_order;
mod pool_fork;
mod refused_threads;
#[path = "../support/refusing.rs"]
mod refusing;
mod signals;
#[path = "../support/mod.rs"]
mod support;
mod threads;

fn main() -> std::process::ExitCode {
    support::harness::run()
}
