//! The documents: every file that a link names is there.

use std::path::Path;

use crate::prose::files;

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

#[test]
fn the_readme_counts_tests_and_faults_on_the_simulated_driver_as_their_documents_do() {
    let read = |file| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    let counts = read("docs/gpu-counts.md");
    let passing = counts.lines().find(|line| line.starts_with("| tests that pass |")).expect("a row of tests");
    let passing = passing.trim_end_matches([' ', '|']).rsplit(' ').next().unwrap();
    let (list, document) = (read("tests/real_caffe/gpu/faults.sh"), read("docs/gpu-faults.md").replace('`', ""));
    let listed: Vec<_> = list.lines().filter_map(|line| line.strip_prefix("  '")?.split_once("' src/")).collect();
    for (fault, _) in &listed {
        assert!(document.contains(&format!("\n| {fault} | ")), "docs/gpu-faults.md has no row for: {fault}");
    }
    let shown =
        [format!("{passing} own tests for the device"), format!("[{} faults that these runs find]", listed.len())];
    shown.iter().for_each(|text| assert!(read("README.md").contains(text), "the README does not say: {text}"));
}
