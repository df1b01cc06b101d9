//! Records of the library: the account, traces, reports, NVTX.
#![expect(
    clippy::undocumented_unsafe_blocks,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test plays the foreign caller, and answers for what it passes"
)]

#[macro_use]
extern crate test_attribute;

mod account;
mod account_objects;
mod device_account;
mod nvtx;
mod report;
#[path = "../support/mod.rs"]
mod support;
mod trace;
mod trace_library;
mod trace_limits;
mod trace_processes;
mod trace_recording;
mod traced_account;

fn main() -> std::process::ExitCode {
    support::harness::run()
}
