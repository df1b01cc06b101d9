//! Comments and documents in plain English, as CONTRIBUTING.md asks: phrases that hide the subject do not occur in them.

use std::path::{Path, PathBuf};
use std::process::Command;

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

/// What begins a comment to the end of the line, and what a block of prose is between; in Markdown, of code.
struct Syntax {
    comment: &'static str,
    block: Option<(&'static str, &'static str)>,
    is_markdown: bool,
}

/// `None`: no file with prose.
fn syntax(path: &Path, text: &str) -> Option<Syntax> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    Some(match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "rs" => Syntax { comment: "//", block: None, is_markdown: false },
        "h" | "hpp" | "c" | "cpp" | "cu" | "java" | "js" | "ts" => {
            Syntax { comment: "//", block: Some(("/*", "*/")), is_markdown: false }
        }
        "py" | "pyi" => Syntax { comment: "#", block: Some(("\"\"\"", "\"\"\"")), is_markdown: false },
        "md" => Syntax { comment: "", block: Some(("```", "```")), is_markdown: true },
        "sh" | "cmake" | "toml" | "awk" => Syntax { comment: "#", block: None, is_markdown: false },
        _ if name == "CMakeLists.txt" || text.starts_with("#!") => {
            Syntax { comment: "#", block: None, is_markdown: false }
        }
        _ => return None,
    })
}

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
fn no_phrase_without_a_subject_is_in_the_project() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut looked_at, mut lines) = (0, Vec::new());
    for path in files(root) {
        // Pictures are no text.
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let Some(syntax) = syntax(&path, &text) else { continue };
        looked_at += 1;
        let name = path.strip_prefix(root).unwrap().display();
        lines.extend(found(&text, &syntax).iter().map(|(line, phrase)| format!("{name}:{line}: {phrase}")));
    }
    assert!(looked_at > 600, "all of it is looked at: {looked_at} files");
    assert!(lines.is_empty(), "name the subject instead:\n{}", lines.join("\n"));
}

#[test]
fn phrases_are_found_in_comments_and_documents_and_not_in_code() {
    let found_in = |file: &str, text: &str| found(text, &syntax(Path::new(file), text).unwrap());
    let rust =
        "//! Whoever\nlet a = \"// nobody\"; // It is\n// told, as `nobody`.\nlet b = '\"'; // nobody\nnobody();\n";
    assert_eq!(found_in("a.rs", rust), [(1, "whoever"), (2, "is told"), (4, "nobody")]);
    assert_eq!(found_in("a.h", "/* is\n * told */ int nobody;\n// a is\nint told;\n"), [(1, "is told"), (2, "nobody")]);
    assert_eq!(found_in("a.py", "\"\"\"Nobody\nis told\"\"\"\nnobody = 1  # somebody\n").len(), 3);
    assert_eq!(found_in("scripts/a", "#!/bin/sh\nnobody=1 # tells of it\n"), [(2, "tells of")]);
    assert_eq!(
        found_in("a.md", "```\nnobody\n```\nThe record `is told`, and nobodys.\nSees to\nit\n"),
        [(5, "sees to it")]
    );
}
