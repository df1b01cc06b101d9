//! Each room of `src/` uses only those below it.

use std::path::Path;

use crate::checked_in::files;

/// From the top to the bottom. Rooms of one row do not use each other.
const ROOMS: [&[&str]; 14] = [
    &["abi"],
    &["process"],
    &["caffe2"],
    &["models"],
    &["blob"],
    &["object"],
    &["copy"],
    &["memory"],
    &["cuda", "caffe"],
    &["observe"],
    &["state"],
    &["takeover"],
    &["settings", "error"],
    &["platform"],
];

fn row(room: &str) -> usize {
    ROOMS
        .iter()
        .position(|row| row.contains(&room))
        .unwrap_or_else(|| panic!("src/{room} is in no row of ROOMS in tests/project/arrows.rs"))
}

/// The code of a file without comments, strings and unit tests.
fn code(source: &str) -> String {
    let code = source.split("\nmod tests {").next().unwrap().lines().map(|line| line.split("//").next().unwrap());
    code.flat_map(|line| line.split('"').step_by(2).chain(["\n"])).collect()
}

/// The first names of the paths that begin at `text`: of one, or of a group in braces.
fn heads(text: &str) -> Vec<&str> {
    let Some(group) = text.strip_prefix('{') else { return vec![word(text)] };
    let (mut depth, mut found) = (1, vec![word(group)]);
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => found.push(word(&group[at + 1..])),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    found
}

fn word(text: &str) -> &str {
    let text = text.trim_start();
    &text[..text.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(text.len())]
}

#[test]
fn no_room_uses_a_room_above_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let is_room = |name: &&str| ROOMS.iter().any(|row| row.contains(name));
    let (mut uses, mut upwards) = (0, Vec::new());
    for path in files(&src).into_iter().filter(|path| !path.ends_with("lib.rs")) {
        let file = path.strip_prefix(&src).unwrap().display().to_string();
        let room = file.split(['/', '.']).next().unwrap();
        let code = code(&std::fs::read_to_string(&path).unwrap());
        for used in code.split("crate::").skip(1).flat_map(heads).filter(is_room) {
            uses += 1;
            if used != room && row(used) <= row(room) {
                upwards.push(format!("{file} uses {used}"));
            }
        }
    }
    assert!(uses > 300, "only {uses} uses of rooms are found");
    assert_eq!(upwards, Vec::<String>::new());
}
