//! The checked-in header is the one that the source gives. `UPDATE=1 cargo test --test project` writes it.

use crate::{checked_in, sources};

#[test]
fn the_header_is_the_one_that_the_source_gives() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let mut generated = Vec::new();
    let builder = cbindgen::Builder::new().with_config(config);
    let sources = sources::sources().fold(builder, |builder, file| builder.with_src(file));
    sources.generate().expect("the source gives a header").write(&mut generated);
    checked_in::is_same("include/syncedmem.h", &String::from_utf8(generated).unwrap());
}
