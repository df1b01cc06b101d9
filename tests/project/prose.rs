//! Comments and documents in plain English, as CONTRIBUTING.md asks: phrases that hide the subject do not occur in them.

use std::path::{Path, PathBuf};

/// In lower case, found as whole words, also across the lines of one comment.
const PHRASES: [&str; 14] = [
    "whoever",
    "nobody",
    "somebody",
    "anybody",
    "everybody",
    "is told",
    "are told",
    "was told",
    "were told",
    "tells of",
    "told of",
    "sees to it",
    "see to it",
    "it is that",
];

/// Files and folders that are free of them. The rest of the project follows.
const DONE: &[&str] = &[
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "bench",
    "cpp_tests",
    "crates",
    "docs",
    "examples",
    "gpu_check",
    "include",
    "integration_tests",
    "page_check",
    "python",
    "real_caffe",
    "scripts",
    "soak",
    "src/abi",
    "src/caffe",
    "src/copy",
    "src/cuda",
    "src/error",
    "src/memory/cache/budget.rs",
    "src/memory/cache/decay.rs",
    "src/memory/cache/device",
    "src/memory/device.rs",
    "src/memory/driver",
    "src/object/dlpack",
    "src/object/eviction",
    "src/object/pin_in_place.rs",
    "src/object/query.rs",
    "src/object/report",
    "src/object/set_data.rs",
    "src/object/transfer.rs",
    "src/object/trim.rs",
    "src/observe",
    "src/platform",
    "src/process.rs",
    "src/settings",
    "src/state",
    "tests",
];

/// Folders whose files without a suffix are scripts.
const SCRIPTS: [&str; 6] =
    ["scripts", "gpu_check", "gpu_check/interplay", "integration_tests", "real_caffe/gpu", "rivals"];

/// What begins a comment to the end of the line, and what a block of prose is between; in Markdown, of code.
struct Syntax {
    comment: &'static str,
    block: Option<(&'static str, &'static str)>,
    is_markdown: bool,
}

fn syntax(path: &Path) -> Option<Syntax> {
    let holds_scripts = |folder: &Path| SCRIPTS.iter().any(|name| folder.ends_with(name));
    let is_script = path.parent().is_some_and(holds_scripts);
    Some(match path.extension().and_then(|extension| extension.to_str()) {
        Some("rs") => Syntax { comment: "//", block: None, is_markdown: false },
        Some("h" | "hpp" | "c" | "cpp") => Syntax { comment: "//", block: Some(("/*", "*/")), is_markdown: false },
        Some("py") => Syntax { comment: "#", block: Some(("\"\"\"", "\"\"\"")), is_markdown: false },
        Some("md") => Syntax { comment: "", block: Some(("```", "```")), is_markdown: true },
        Some("sh" | "cmake") => Syntax { comment: "#", block: None, is_markdown: false },
        None if is_script => Syntax { comment: "#", block: None, is_markdown: false },
        _ => return None,
    })
}

fn files(path: &Path, found: &mut Vec<PathBuf>) {
    if path.is_dir() {
        std::fs::read_dir(path).unwrap().for_each(|entry| files(&entry.unwrap().path(), found));
    } else if syntax(path).is_some() {
        found.push(path.to_path_buf());
    }
}

/// The comment at the end of a line of code, if its mark is outside of quotation marks.
fn comment<'l>(line: &'l str, mark: &str) -> Option<&'l str> {
    let is_code = |at: &usize| line[..*at].replace("\\\"", "").replace("'\"'", "").matches('"').count() % 2 == 0;
    line.match_indices(mark).map(|(at, _)| at).find(is_code).map(|at| &line[at..])
}

/// The prose of each line, in lower case and without `code`; empty for a line of code.
fn prose(text: &str, syntax: &Syntax) -> Vec<String> {
    let mut is_inside = false;
    let prose = text.lines().map(|line| {
        let was_inside = is_inside;
        let marks = syntax.block.map_or(0, |(open, close)| {
            line.matches(open).count() + if open == close { 0 } else { line.matches(close).count() }
        });
        is_inside ^= marks % 2 == 1;
        let is_block = was_inside || marks > 0;
        match syntax.is_markdown || is_block {
            true if syntax.is_markdown == is_block => "",
            true => line,
            false => comment(line, syntax.comment).unwrap_or(""),
        }
    });
    prose.map(|prose| prose.to_lowercase().split('`').step_by(2).collect::<Vec<_>>().join("_")).collect()
}

/// The number of each line where a phrase begins, and the phrase.
fn found(text: &str, syntax: &Syntax) -> Vec<(usize, &'static str)> {
    let mut words = Vec::new();
    for (number, line) in (1..).zip(prose(text, syntax)) {
        let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
        let of_line = line.split(|letter| !is_letter(letter)).filter(|word| !word.is_empty());
        let before = words.len();
        words.extend(of_line.map(|word| (number, word.to_string())));
        // No phrase goes on behind a line without prose.
        if words.len() == before {
            words.push((number, String::new()));
        }
    }
    let begins = |at: usize, phrase: &str| {
        phrase.split(' ').enumerate().all(|(offset, word)| words.get(at + offset).is_some_and(|found| found.1 == word))
    };
    let all = |at: usize| PHRASES.into_iter().filter(move |phrase| begins(at, phrase)).map(move |phrase| (at, phrase));
    (0..words.len()).flat_map(all).map(|(at, phrase)| (words[at].0, phrase)).collect()
}

#[test]
fn no_phrase_without_a_subject_is_in_what_is_done() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    DONE.iter().for_each(|path| files(&root.join(path), &mut paths));
    assert!(paths.len() > 100, "all of it is looked at: {} files", paths.len());
    let mut lines = Vec::new();
    for path in paths {
        let name = path.strip_prefix(root).unwrap().display();
        let text = std::fs::read_to_string(&path).unwrap();
        let found = found(&text, &syntax(&path).unwrap());
        lines.extend(found.iter().map(|(line, phrase)| format!("{name}:{line}: {phrase}")));
    }
    assert!(lines.is_empty(), "name the subject instead:\n{}", lines.join("\n"));
}

#[test]
fn phrases_are_found_in_comments_and_documents_and_not_in_code() {
    let found_in = |file: &str, text: &str| found(text, &syntax(Path::new(file)).unwrap());
    let rust =
        "//! Whoever\nlet a = \"// nobody\"; // It is\n// told, as `nobody`.\nlet b = '\"'; // nobody\nnobody();\n";
    assert_eq!(found_in("a.rs", rust), [(1, "whoever"), (2, "is told"), (4, "nobody")]);
    assert_eq!(found_in("a.h", "/* is\n * told */ int nobody;\n// a is\nint told;\n"), [(1, "is told"), (2, "nobody")]);
    assert_eq!(found_in("a.py", "\"\"\"Nobody\nis told\"\"\"\nnobody = 1  # somebody\n").len(), 3);
    assert_eq!(found_in("scripts/a", "nobody=1\n# tells of it\n"), [(2, "tells of")]);
    assert_eq!(
        found_in("a.md", "```\nnobody\n```\nThe record `is told`, and nobodys.\nSees to\nit\n"),
        [(5, "sees to it")]
    );
}
