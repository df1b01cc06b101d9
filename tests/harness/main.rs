//! The harness of the rooms: a skipped test does not count as passed, a test that panics has failed, and each suite has a
//! process of its own.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod beside;
mod outcomes;
#[path = "../support/mod.rs"]
mod support;

support::harness::suites![beside, outcomes];
