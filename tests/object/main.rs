//! Objects: states, claims, pins, tensors.
#![expect(
    clippy::undocumented_unsafe_blocks,
    clippy::unwrap_used,
    reason = "a test plays the foreign caller, and answers for what it passes"
)]

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
#[path = "../support/mod.rs"]
mod support;

support::harness::suites![
    arenas,
    device_arenas,
    device_check,
    device_dlpack,
    device_faults,
    device_sequences,
    device_threads,
    dlpack,
    dlpack_ends,
    given_up,
];
