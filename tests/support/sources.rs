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

/// Fails where a checked-in file is not what was generated; `UPDATE` in the environment writes it before. `test` is the
/// test that does so.
pub fn same_as_checked_in(file: &str, generated: &str, test: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var_os("UPDATE").is_some() {
        if let Err(error) = std::fs::write(&path, generated) {
            panic!("{file} cannot be written: {error}");
        }
    }
    let checked_in = std::fs::read_to_string(&path).unwrap_or_default();
    for (number, (ours, theirs)) in checked_in.lines().zip(generated.lines()).enumerate() {
        assert_eq!(ours, theirs, "{file} differs at line {}; run UPDATE=1 cargo test --test {test}", number + 1);
    }
    assert!(checked_in == generated, "{file} differs in length; run UPDATE=1 cargo test --test {test}");
}
