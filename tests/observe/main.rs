//! Records of the library: the account, traces, advice, reports, NVTX.
#![expect(
    clippy::undocumented_unsafe_blocks,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test plays the foreign caller, and answers for what it passes"
)]

mod account;
mod account_objects;
mod advice;
mod device_account;
mod device_advice;
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
    advice::copies,
    advice::memory,
    advice::sums,
    device_account,
    device_advice,
    nvtx,
    report,
    trace_recording,
    trace_library,
    trace_limits,
    trace_processes,
    traced_account,
];
