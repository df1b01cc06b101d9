//! Caffe2's storage: tensors, typed blobs, workspaces.
#![expect(
    clippy::undocumented_unsafe_blocks,
    clippy::multiple_unsafe_ops_per_block,
    clippy::unwrap_used,
    reason = "a test plays the foreign caller, and answers for what it passes"
)]

mod handles;
mod mended;
mod model;
mod objects;
mod sequences;
#[path = "../support/mod.rs"]
mod support;
mod tensor_rules;
mod upstream_blob;
mod upstream_tensor;
mod workspace_rules;

support::harness::suites![mended, sequences, tensor_rules, upstream_blob, upstream_tensor, workspace_rules];
