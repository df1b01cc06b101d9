//! The sources of the header and of the description of the C API.

use std::path::{Path, PathBuf};

/// The files that say what the C API is, in the header's order.
const FILES: [&str; 19] = [
    "abi/status.rs",
    "abi/c/errors.rs",
    "abi/c/cuda.rs",
    "abi/c/object.rs",
    "abi/c/access.rs",
    "abi/c/transfer.rs",
    "abi/c/eviction.rs",
    "abi/c/dlpack.rs",
    "abi/c/capsule.rs",
    "abi/c/query.rs",
    "abi/c/pinning.rs",
    "abi/c/pools.rs",
    "abi/caffe/callback.rs",
    "caffe/callback.rs",
    "abi/c/policy.rs",
    "abi/c/account.rs",
    "abi/c/stats.rs",
    "abi/c/trace.rs",
    "abi/c/caffe_host.rs",
];

/// Their paths.
pub fn sources() -> impl Iterator<Item = PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    FILES.iter().map(move |file| root.join(file))
}
