//! Files that are checked in: whether those made from others are what these give, and how they are written; their size.

use std::path::{Path, PathBuf};

use crate::prose::files;

/// Fails where a checked-in file is not what was generated; `UPDATE` in the environment writes it before.
pub fn is_same(file: &str, generated: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var_os("UPDATE").is_some() {
        if let Err(error) = std::fs::write(&path, generated) {
            panic!("{file} cannot be written: {error}");
        }
    }
    let checked_in = std::fs::read_to_string(&path).unwrap_or_default();
    for (number, (ours, theirs)) in checked_in.lines().zip(generated.lines()).enumerate() {
        assert_eq!(ours, theirs, "{file} differs at line {}; run UPDATE=1 cargo test --test project", number + 1);
    }
    assert!(checked_in == generated, "{file} differs in length; run UPDATE=1 cargo test --test project");
}

/// A download, such as a wheel, is larger.
#[test]
fn no_file_has_more_than_256_kib() {
    let large = |file: &PathBuf| std::fs::metadata(file).unwrap().len() > 256 << 10;
    let found: Vec<_> = files(Path::new(env!("CARGO_MANIFEST_DIR"))).into_iter().filter(large).collect();
    assert!(found.is_empty(), "downloads are not checked in: {found:?}");
}
