//! Records of the library: the account, traces, reports, NVTX.
#![expect(
    clippy::undocumented_unsafe_blocks,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test plays the foreign caller, and answers for what it passes"
)]

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

support::harness::suites![
    account,
    account_objects,
    device_account,
    nvtx,
    report,
    trace_recording,
    trace_library,
    trace_limits,
    trace_processes,
    traced_account,
];
