//! Comments and documents in plain English, as CONTRIBUTING.md asks: phrases that hide the subject do not occur in them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// In lower case, found as whole words.
const PHRASES: &str = "whoever|nobody|somebody|anybody|everybody|is told|are told|was told|were told|tells of|told of|sees to it|see to it|it is that";

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

/// The prose of a line: a comment, or a line of a document outside of blocks of code; without what is in backticks or quotation marks.
fn prose(line: &str, mark: &str) -> String {
    let at = if mark.is_empty() { Some(0) } else { line.find(mark) };
    let code = |text: &str, quote| text.split(quote).step_by(2).collect::<Vec<_>>().join("_");
    let prose = at.filter(|at| line[..*at].matches('"').count() % 2 == 0).map_or("", |at| &line[at..]);
    code(&code(prose, '`'), '"').to_lowercase()
}

/// What begins a comment in a file; `None`: it has no prose.
fn mark(path: &Path, text: &str) -> Option<&'static str> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("rs" | "h" | "hpp" | "c" | "cpp" | "java" | "js") => Some("//"),
        Some("py" | "sh" | "cmake" | "toml" | "txt") => Some("#"),
        Some("md") => Some(""),
        _ => text.starts_with("#!").then_some("#"),
    }
}

fn has_phrase(prose: &str) -> Option<&'static str> {
    let words: Vec<_> = prose.split(|letter: char| !letter.is_alphanumeric() && letter != '_').collect();
    let text = format!(" {} ", words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "));
    PHRASES.split('|').find(|phrase| text.contains(&format!(" {phrase} ")))
}

#[test]
fn no_phrase_without_a_subject_is_in_the_project() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut looked_at, mut lines) = (0, Vec::new());
    for path in files(root) {
        // Pictures are no text.
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let Some(mark) = mark(&path, &text) else { continue };
        looked_at += 1;
        let (name, mut is_code) = (path.strip_prefix(root).unwrap().display(), false);
        for (number, line) in (1..).zip(text.lines()) {
            is_code ^= mark.is_empty() && line.starts_with("```");
            let phrase = if is_code { None } else { has_phrase(&prose(line, mark)) };
            lines.extend(phrase.map(|phrase| format!("{name}:{number}: {phrase}")));
        }
    }
    assert!(looked_at > 600, "all of it is looked at: {looked_at} files");
    assert!(lines.is_empty(), "name the subject instead:\n{}", lines.join("\n"));
}
