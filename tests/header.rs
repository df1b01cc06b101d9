//! The checked-in header is the one that the source gives. `UPDATE=1 cargo test --test header` writes it.

use std::path::Path;

/// The files that the header is made from, in its order.
const SOURCES: [&str; 19] = [
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

#[test]
fn the_header_is_the_one_that_the_source_gives() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = root.join("include/syncedmem.h");
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let mut generated = Vec::new();
    let builder = cbindgen::Builder::new().with_config(config);
    let sources = SOURCES.iter().fold(builder, |builder, file| builder.with_src(root.join("src").join(file)));
    sources.generate().expect("the source gives a header").write(&mut generated);
    let generated = String::from_utf8(generated).unwrap();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&file, &generated).unwrap();
    }
    let checked_in = std::fs::read_to_string(&file).unwrap_or_default();
    for (number, (ours, theirs)) in checked_in.lines().zip(generated.lines()).enumerate() {
        assert_eq!(
            ours,
            theirs,
            "include/syncedmem.h differs at line {}; run UPDATE=1 cargo test --test header",
            number + 1
        );
    }
    assert!(checked_in == generated, "include/syncedmem.h differs in length; run UPDATE=1 cargo test --test header");
}
