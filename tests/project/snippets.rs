//! Pages show the examples as the examples' files have them. `UPDATE=1 cargo test --test project` writes it.
//!
//! In a file the lines between one with `snippet:begin` and one with `snippet:end` are shown, or all where there is no such line; in a
//! page the block of code behind `<!-- from FILE -->` shows them.

use std::path::Path;

use crate::checked_in;

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// What is shown of a text: its parts without their indentation, and an empty line between them.
fn shown(text: &str) -> String {
    if !text.contains("snippet:begin") {
        return text.to_string();
    }
    let parts = text.split_inclusive('\n').collect::<Vec<_>>();
    let mut parts = parts.split(|line| line.contains("snippet:begin")).skip(1).map(|lines| {
        let end = lines.iter().position(|line| line.contains("snippet:end")).unwrap_or_else(|| panic!("no end"));
        without_indentation(&lines[..end]).trim_end().to_string() + "\n"
    });
    let first = parts.next().unwrap_or_else(|| panic!("nothing is shown"));
    parts.fold(first, |shown, part| shown + "\n" + &part)
}

fn without_indentation(lines: &[&str]) -> String {
    let indented = lines.iter().filter(|line| !line.trim().is_empty());
    let least = indented.map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    lines.iter().map(|line| line.get(least..).unwrap_or("\n")).collect()
}

/// The page with what the files show.
fn filled(page: &str, read: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    let mut lines = page.split_inclusive('\n');
    while let Some(line) = lines.next() {
        out += line;
        let Some(file) = line.trim().strip_prefix("<!-- from ").and_then(|rest| rest.strip_suffix(" -->")) else {
            continue;
        };
        let fence = lines.next().filter(|line| line.starts_with("```")).unwrap_or_else(|| panic!("{file}: no block"));
        let end = lines.find(|line| line.starts_with("```")).unwrap_or_else(|| panic!("{file}: no end of the block"));
        out += fence;
        out += &shown(&read(file));
        out += end;
    }
    out
}

/// The pages, and what each shows.
const PAGES: [(&str, &[&str]); 1] = [("ffi", &["rust/walk.rs", "java/Walk.java", "node/walk.js"])];

#[test]
fn the_pages_show_what_the_examples_say_and_print() {
    for (page, examples) in PAGES {
        let file = format!("docs/{page}.md");
        let page = read(&file);
        for example in examples {
            assert!(page.contains(&format!("<!-- from examples/{example} -->")), "{file} shows {example}");
        }
        checked_in::is_same(&file, &filled(&page, read));
    }
}
