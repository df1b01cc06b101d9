//! Plain English, as CONTRIBUTING.md asks: phrases that hide the subject do not occur in the project.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Found as whole words, in either case.
const PHRASES: &str =
    "whoever|nobody|somebody|anybody|everybody|(is|are|was|were) told|tells of|told of|sees to it|see to it|it is that";

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

#[test]
fn no_phrase_without_a_subject_is_in_the_project() {
    let mut search = Command::new("git");
    search.args(["grep", "--untracked", "-nIiwE", PHRASES, "--", ":!tests/project/prose.rs"]);
    let found = search.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    // Its status where nothing is found.
    assert_eq!(found.status.code(), Some(1), "name the subject instead:\n{}", String::from_utf8_lossy(&found.stdout));
}
