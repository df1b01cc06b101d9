//! Random walks for a sanitizer, which `tests/caffe2` cannot have: that program has an allocator of its own.
#![expect(
    clippy::undocumented_unsafe_blocks,
    clippy::unwrap_used,
    reason = "a test plays the foreign caller, and answers for what it passes"
)]

#[allow(dead_code, reason = "shared with tests/caffe2")]
#[path = "../caffe2/handles.rs"]
mod handles;
#[path = "../caffe2/model.rs"]
mod model;
#[allow(dead_code, reason = "shared with tests/caffe2")]
#[path = "../caffe2/objects.rs"]
mod objects;
#[path = "../support/mod.rs"]
mod support;
mod tensors;
#[path = "../caffe2/world.rs"]
mod world;

support::harness::suites![tensors];
