//! Objects: states, claims, pins, tensors, eviction.
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
mod device_pin;
mod device_reclaim;
mod device_reclaim_races;
mod device_registered;
mod device_sequences;
mod device_threads;
mod dlpack;
mod dlpack_ends;
mod evictable;
mod evicting;
mod given_up;
#[path = "../support/mod.rs"]
mod support;

support::harness::suites![
    arenas,
    device_arenas,
    device_check,
    device_dlpack,
    device_faults,
    device_pin,
    device_reclaim,
    device_reclaim_races,
    device_registered,
    device_sequences,
    device_threads,
    dlpack,
    dlpack_ends,
    evictable,
    given_up,
];
