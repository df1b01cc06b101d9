//! Dependencies go one way: each crate, and each room of `src/`, uses those below it only.

use std::collections::BTreeSet;
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

/// The crates of this workspace that each crate may use. Cargo.toml says which it does use.
const CRATES: &[(&str, &[&str])] = &[
    ("crates/caffe-file", &[]),
    ("crates/core", &[]),
    ("crates/caffemodel", &["syncedmem-core"]),
    ("crates/driver-conformance", &[]),
    ("crates/net", &["syncedmem-caffe-file", "syncedmem-core", "syncedmem-trace"]),
    ("crates/simulated-cuda", &[]),
    ("crates/test-attribute", &[]),
    ("crates/trace", &["syncedmem-core"]),
    ("crates/trace-reader", &["syncedmem-core", "syncedmem-trace"]),
    (".", &["caffemodel", "syncedmem-caffe-file", "syncedmem-core", "syncedmem-trace"]),
    (
        "crates/command",
        &["caffemodel", "syncedmem-caffe-file", "syncedmem-core", "syncedmem-trace", "syncedmem-trace-reader"],
    ),
];

/// The crates without unsafe code.
const SAFE: [&str; 4] = ["crates/caffe-file", "crates/caffemodel", "crates/trace", "crates/trace-reader"];

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

#[test]
fn no_crate_uses_a_crate_above_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = std::fs::read_dir(root.join("crates")).unwrap();
    let folders = folders.map(|folder| format!("crates/{}", folder.unwrap().file_name().to_str().unwrap()));
    let listed = CRATES.iter().map(|(folder, _)| folder.to_string()).filter(|folder| folder != ".");
    assert_eq!(folders.collect::<BTreeSet<_>>(), listed.collect());
    for &(folder, below) in CRATES {
        let manifest = std::fs::read_to_string(root.join(folder).join("Cargo.toml")).unwrap();
        let dependencies = manifest.split("\n[dependencies]\n").nth(1).unwrap_or("").split("\n[").next().unwrap();
        let named = dependencies.lines().filter_map(|line| line.split(['.', ' ']).next());
        let used: Vec<_> = named.filter(|name| name.starts_with("syncedmem") || *name == "caffemodel").collect();
        assert_eq!(used, below, "{folder}/Cargo.toml");
    }
}

#[test]
fn the_crates_that_only_compute_forbid_unsafe_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in SAFE {
        let source = std::fs::read_to_string(root.join(folder).join("src/lib.rs")).unwrap();
        assert!(source.lines().any(|line| line == "#![forbid(unsafe_code)]"), "{folder}/src/lib.rs");
    }
}
