//! Blobs: the rules of Caffe's Blob that are kept, the faults that are mended, and the math.
#![expect(
    clippy::undocumented_unsafe_blocks,
    clippy::unwrap_used,
    reason = "a test plays the foreign caller, and answers for what it passes"
)]

mod device_math;
mod device_mends;
mod keeps;
mod mends;
#[path = "../support/mod.rs"]
mod support;

support::harness::suites![device_math, device_mends, keeps, mends];
