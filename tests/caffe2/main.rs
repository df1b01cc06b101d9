//! Caffe2's storage: tensors, typed blobs, workspaces.
#![expect(
    clippy::undocumented_unsafe_blocks,
    clippy::unwrap_used,
    reason = "a test plays the foreign caller, and answers for what it passes"
)]

#[macro_use]
extern crate test_attribute;

mod account;
#[allow(dead_code, reason = "only tests/process uses the counts of blocks by size")]
#[path = "../process/allocator.rs"]
mod allocator;
mod bindings;
mod device_tensors;
mod handles;
mod init_net;
mod model;
mod nested;
mod objects;
mod out_of_memory;
mod sequences;
#[path = "../support/mod.rs"]
mod support;
mod tensor_rules;
mod threads;
mod unlike_caffe2;
#[path = "../../crates/caffemodel/tests/support/mod.rs"]
mod wire;
mod workspace_rules;
mod world;

fn main() -> std::process::ExitCode {
    support::harness::run()
}
