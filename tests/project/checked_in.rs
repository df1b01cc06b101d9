//! The files of the repository, and those that are generated from others.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Every file of the project, as git lists them.
pub fn files(root: &Path) -> Vec<PathBuf> {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .unwrap();
    assert!(listed.status.success(), "git: {}", String::from_utf8_lossy(&listed.stderr));
    let names = String::from_utf8(listed.stdout).unwrap();
    names.split_terminator('\0').map(|name| root.join(name)).filter(|path| path.is_file()).collect()
}

/// Fails if a checked-in file differs from what was generated. With `UPDATE` in the environment it writes the file first.
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
