//! The harness of the rooms: a skipped test does not count as passed, a test that panics has failed, and each suite has a
//! process of its own.
#![expect(
    clippy::undocumented_unsafe_blocks,
    clippy::multiple_unsafe_ops_per_block,
    clippy::unwrap_used,
    reason = "a test plays the foreign caller, and answers for what it passes"
)]

mod beside;
mod outcomes;
#[path = "../support/mod.rs"]
mod support;

support::harness::suites![beside, outcomes];
