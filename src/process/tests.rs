use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Paths, and code without comments and tests.
fn modules(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            modules(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let module = if path.ends_with("mod.rs") { folder.to_path_buf() } else { path.with_extension("") };
            let text = std::fs::read_to_string(&path).expect("a source");
            let code = text.lines().take_while(|line| !line.starts_with("mod tests"));
            let code = code.map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join(" ");
            found.push((module, code));
        }
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
}

/// `Lock`, and every struct that has one.
fn types_with_locks(modules: &[(PathBuf, String)]) -> BTreeSet<&str> {
    let mut types = BTreeSet::from(["Lock"]);
    let structs = || modules.iter().flat_map(|(_, code)| code.split("struct ").skip(1));
    loop {
        let known = types.len();
        for text in structs() {
            let end = text.find(['{', '(', ';']).unwrap_or(text.len());
            let fields =
                text[end..].split(if text[end..].starts_with('{') { '}' } else { ';' }).next().unwrap_or_default();
            // A reference to a lock is no lock.
            if !fields.contains('&') && words(fields).any(|word| types.contains(word)) {
                types.extend(words(text).next());
            }
        }
        if types.len() == known {
            return types;
        }
    }
}

#[test]
fn every_static_lock_of_the_sources_is_in_the_table_of_locks() {
    let mut sources = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    modules(&root, &mut sources);
    let types = types_with_locks(&sources);
    let has_lock = |declaration: &str| words(declaration).any(|word| types.contains(word));
    let is_static = |declaration: &str| {
        let name = declaration.split(':').next().unwrap_or_default();
        name.chars().all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_')
    };
    let statics = |code: &str| {
        let declarations = code.split("static ").skip(1).filter_map(|text| text.split_once(" = "));
        declarations.filter(|(declaration, _)| is_static(declaration) && has_lock(declaration)).count()
    };
    let this = sources.iter().find(|(module, _)| *module == root.join("process")).map(|(_, code)| code);
    let table = this.and_then(|code| code.split("= &[").nth(1)?.split("];").next()).expect("the table");
    let table = table.replace("#[cfg(feature = \"caffe2\")]", "").replace("#[cfg(feature = \"blob\")]", "");
    let named = || table.split(',').filter_map(|lock| Some(lock.trim().rsplit_once("::")?.0.replace("::", "/")));
    for (module, code) in sources.iter().filter(|(module, _)| !module.ends_with("platform/sync")) {
        let is_it = |name: &String| module.ends_with(name) && (*module == root.join(name) || !root.join(name).exists());
        let in_table = named().filter(is_it).count();
        let expected = if module.ends_with("platform/loaded") { 1 } else { statics(code) };
        assert_eq!(in_table, expected, "locks of {} in the table, and in its source", module.display());
    }
    let left_out = if cfg!(feature = "blob") { 0 } else { 1 };
    assert_eq!(super::LOCKS.len() + left_out, named().count());
}
