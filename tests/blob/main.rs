//! Blobs: the rules of Caffe's Blob that are kept, the faults that are mended, and the math.
#![expect(clippy::unwrap_used, reason = "a test answers for what it passes")]

mod keeps;
mod mends;
#[path = "../support/mod.rs"]
mod support;

support::harness::suites![keeps, mends];
