use std::path::Path;

fn each_source(folder: &Path, visit: &mut impl FnMut(&Path, String)) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            each_source(&path, visit);
        } else {
            visit(&path, std::fs::read_to_string(&path).expect("a source"));
        }
    }
}

fn static_locks(source: &str) -> usize {
    let is_lock = |(name, kind): (&str, &str)| !name.contains(char::is_lowercase) && kind.starts_with("Lock<");
    source.split("static ").skip(1).filter(|text| text.split_once(": ").is_some_and(is_lock)).count()
}

/// The compiler reports the `fork_lock` of a `locked_static!` that is not in the table: nothing calls it.
#[test]
fn every_lock_is_made_in_a_locked_static() {
    let declared = |source: &str| source.matches("locked_static! {").count();
    each_source(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut |path, source| {
        if path.ends_with("platform/sync.rs") || path.ends_with("tests.rs") || !source.contains(" Lock::new(") {
            return;
        }
        let parent = std::fs::read_to_string(path.with_file_name("mod.rs")).unwrap_or_default();
        assert!(declared(&source) + declared(&parent) > 0, "{} makes a lock", path.display());
        assert!(declared(&source) >= static_locks(&source), "{} has a static lock", path.display());
    });
}
