//! Links of documents to files of the repository.

use std::path::Path;

use crate::checked_in::files;

/// The targets of `[text](target)`, outside blocks of code.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    let prose = text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        is_code ^= fence;
        !is_code && !fence
    });
    prose.flat_map(|line| line.split("](").skip(1).filter_map(|rest| rest.split(')').next()))
}

fn broken(document: &Path, text: &str) -> Vec<String> {
    let leads_nowhere = |link: &&str| {
        let file = link.split('#').next().unwrap_or_default();
        !link.contains("://") && !file.is_empty() && !document.parent().unwrap().join(file).exists()
    };
    links(text).filter(leads_nowhere).map(|link| format!("{}: {link}", document.display())).collect()
}

#[test]
fn every_file_that_a_document_links_to_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found: Vec<_> =
        files(root).into_iter().filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    assert!(found.contains(&root.join("README.md")) && found.contains(&root.join("docs/caffe-abi.md")));
    let broken: Vec<_> = found.iter().flat_map(|path| broken(path, &std::fs::read_to_string(path).unwrap())).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
