//! The driver: contexts, devices, captures and resets.
#![expect(
    clippy::undocumented_unsafe_blocks,
    clippy::unwrap_used,
    reason = "a test plays the foreign caller, and answers for what it passes"
)]

mod device_capture;
mod device_capture_beside;
mod device_contexts;
mod device_dead_contexts;
mod device_defaults;
mod device_identity;
mod device_resets;
#[path = "../support/mod.rs"]
mod support;

support::harness::suites![
    device_capture,
    device_capture_beside,
    device_contexts,
    device_dead_contexts,
    device_defaults,
    device_identity,
    device_resets,
];
