//! Caffe2's storage: tensors, typed blobs, workspaces.
#![expect(
    clippy::undocumented_unsafe_blocks,
    clippy::multiple_unsafe_ops_per_block,
    clippy::unwrap_used,
    reason = "a test plays the foreign caller, and answers for what it passes"
)]

mod handles;
#[path = "../support/mod.rs"]
mod support;
mod upstream_blob;
mod upstream_tensor;

support::harness::suites![upstream_blob, upstream_tensor];
