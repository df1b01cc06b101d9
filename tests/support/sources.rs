//! What the header and the description of the C API are made from.

use std::path::{Path, PathBuf};

/// The files that say what the C API is, in the header's order.
const FILES: [&str; 19] = [
    "ffi/status.rs",
    "ffi/c/errors.rs",
    "ffi/c/cuda.rs",
    "ffi/c/object.rs",
    "ffi/c/access.rs",
    "ffi/c/transfer.rs",
    "ffi/c/eviction.rs",
    "ffi/c/dlpack.rs",
    "ffi/c/capsule.rs",
    "ffi/c/query.rs",
    "ffi/c/pinning.rs",
    "ffi/c/pools.rs",
    "ffi/caffe/callback.rs",
    "caffe_mode/callback.rs",
    "ffi/c/policy.rs",
    "ffi/c/account.rs",
    "ffi/c/stats.rs",
    "ffi/c/trace.rs",
    "ffi/c/caffe_host.rs",
];

/// Their paths.
pub fn sources() -> impl Iterator<Item = PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    FILES.iter().map(move |file| root.join(file))
}
