//! The crates, and the rooms of `src/`: each uses those below it and none above it, and no modules of `src/` use each other
//! in a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::prose::files;

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
    ("crates/layer-names", &["syncedmem-caffe-file", "syncedmem-core", "syncedmem-trace"]),
    ("crates/simulated-cuda", &[]),
    ("crates/trace", &["syncedmem-core"]),
    ("crates/analysis", &["syncedmem-core", "syncedmem-trace"]),
    ("crates/trace-reader", &["syncedmem-core", "syncedmem-trace"]),
    (".", &["caffemodel", "syncedmem-caffe-file", "syncedmem-core", "syncedmem-trace"]),
    (
        "crates/command",
        &[
            "caffemodel",
            "syncedmem-analysis",
            "syncedmem-caffe-file",
            "syncedmem-core",
            "syncedmem-trace",
            "syncedmem-trace-reader",
        ],
    ),
];

/// Crates without unsafe code.
const SAFE: [&str; 5] =
    ["crates/caffe-file", "crates/caffemodel", "crates/trace", "crates/analysis", "crates/trace-reader"];

fn row(room: &str) -> usize {
    ROOMS
        .iter()
        .position(|row| row.contains(&room))
        .unwrap_or_else(|| panic!("src/{room} is in no row of ROOMS in tests/project/arrows.rs"))
}

/// By module (`memory/cache/bins`), the modules that it names.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// The code of a file without comments, strings and unit tests.
fn code(source: &str) -> String {
    let mut code = String::new();
    for line in source.lines() {
        if line.starts_with("mod tests {") {
            break;
        }
        let line = line.split("//").next().unwrap();
        // Between quotation marks.
        code.extend(line.split('"').step_by(2));
        code.push('\n');
    }
    code
}

/// The paths that begin at `text`, which is behind `prefix`: one, or all of a group in braces.
fn paths(text: &str, prefix: &str, found: &mut Vec<String>) {
    let text = text.trim_start();
    if let Some(group) = text.strip_prefix('{') {
        let (mut depth, mut start) = (0, 0);
        for (at, letter) in group.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' if depth > 0 => depth -= 1,
                ',' | '}' if depth == 0 => {
                    paths(&group[start..at], prefix, found);
                    start = at + 1;
                    if letter == '}' {
                        return;
                    }
                }
                _ => {}
            }
        }
        return;
    }
    let word: String = text.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
    let path = if prefix.is_empty() { word.clone() } else { format!("{prefix}/{word}") };
    match text[word.len()..].strip_prefix("::") {
        Some(rest) => paths(rest, &path, found),
        None => found.push(path.trim_end_matches('/').to_string()),
    }
}

/// What the code of `module` names: by `crate::`, by `super::`, and by the name of a module below it.
fn names(module: &str, code: &str, children: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    for (word, base) in [("crate::", ""), ("super::", parent(module))] {
        for (at, _) in code.match_indices(word).filter(|(at, _)| !code[..*at].ends_with(is_name)) {
            let (mut base, mut rest) = (base, &code[at + word.len()..]);
            while let Some(above) = rest.strip_prefix("super::") {
                (base, rest) = (parent(base), above);
            }
            paths(rest, base, &mut found);
        }
    }
    let named = |child: &&str| code.match_indices(&format!("{child}::")).any(|(at, _)| !code[..at].ends_with(is_name));
    found.extend(children.iter().filter(|child| named(child)).map(|child| format!("{module}/{child}")));
    found
}

fn parent(module: &str) -> &str {
    module.rsplit_once('/').map_or("", |(parent, _)| parent)
}

fn uses(sources: &BTreeMap<String, String>) -> Uses {
    let module_of = |path: &str| {
        let mut path = path;
        while !path.is_empty() && !sources.contains_key(path) {
            path = parent(path);
        }
        path.to_string()
    };
    let used = |(module, code): (&String, &String)| {
        let children: Vec<_> =
            sources.keys().filter(|other| parent(other) == module).map(|child| &child[module.len() + 1..]).collect();
        let named = names(module, code, &children).into_iter().map(|path| module_of(&path));
        // What no module has is an item of the root's.
        (module.clone(), named.filter(|used| !used.is_empty() && used != module).collect())
    };
    sources.iter().filter(|(module, _)| *module != "lib").map(used).collect()
}

fn room(module: &str) -> &str {
    module.split('/').next().unwrap()
}

/// Uses of a higher room, or of another of the same row: the module, and the room.
fn upwards(uses: &Uses) -> BTreeSet<(&str, &str)> {
    let pairs = uses.iter().flat_map(|(module, used)| used.iter().map(move |used| (module.as_str(), room(used))));
    pairs.filter(|(module, used)| room(module) != *used && row(used) <= row(room(module))).collect()
}

/// The modules that one uses and those that they use, a folder and what is in it apart.
fn reached<'u>(uses: &'u Uses, start: &str) -> BTreeSet<&'u str> {
    let is_within = |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.starts_with('/'));
    let (mut seen, mut open) = (BTreeSet::new(), vec![start.to_string()]);
    while let Some(module) = open.pop() {
        for used in uses[&module].iter().filter(|used| !is_within(used, &module) && !is_within(&module, used)) {
            if uses.contains_key(used) && seen.insert(used.as_str()) {
                open.push(used.clone());
            }
        }
    }
    seen
}

/// Modules that reach themselves.
fn circles(uses: &Uses) -> BTreeSet<&str> {
    uses.keys().map(String::as_str).filter(|module| reached(uses, module).contains(module)).collect()
}

/// Of every module in a folder, by its path without `.rs` and `/mod.rs`.
fn modules(folder: &Path) -> Uses {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = |path: PathBuf| {
        let module = path.strip_prefix(folder).ok()?.to_str().unwrap().strip_suffix(".rs")?;
        Some((module.trim_end_matches("/mod").to_string(), code(&std::fs::read_to_string(&path).unwrap())))
    };
    uses(&files(root).into_iter().filter_map(source).collect())
}

fn library() -> Uses {
    modules(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))
}

/// Of all crates but the library: the modules of each circle, of which each reaches every other one.
fn circles_of_crates() -> Vec<Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found: Vec<Vec<String>> = Vec::new();
    for (folder, _) in CRATES.iter().filter(|(folder, _)| *folder != ".") {
        let uses = modules(&root.join(folder).join("src"));
        let mut left = circles(&uses);
        while let Some(first) = left.pop_first() {
            let of_first = reached(&uses, first);
            let circle =
                left.iter().copied().filter(|other| of_first.contains(other) && reached(&uses, other).contains(first));
            let circle: BTreeSet<_> = circle.chain([first]).collect();
            left.retain(|module| !circle.contains(module));
            found.push(circle.iter().map(|module| format!("{folder}/src/{module}")).collect());
        }
    }
    found
}

#[test]
fn no_room_uses_a_room_above_it() {
    let uses = library();
    assert!(uses.len() > 100, "all of src/ is looked at: {} modules", uses.len());
    assert_eq!(upwards(&uses), BTreeSet::new());
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

#[test]
fn no_modules_use_each_other_in_a_circle() {
    assert_eq!(circles(&library()), BTreeSet::new());
    assert_eq!(circles_of_crates(), Vec::<Vec<String>>::new());
}
