//! The shared library as a file: what it exports, what it needs, what it is called.
//!
//! `cargo test` builds the library for tests only; `SYNCEDMEM_LIBRARY` names the one to look at, and by default it
//! is built here, as users get it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

fn library() -> &'static PathBuf {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| match std::env::var_os("SYNCEDMEM_LIBRARY") {
        Some(path) => path.into(),
        None => {
            let root = env!("CARGO_MANIFEST_DIR");
            let status = Command::new(env!("CARGO"))
                .args(["build", "--release", "--lib", "--no-default-features"])
                .current_dir(root)
                .status();
            assert!(status.is_ok_and(|status| status.success()), "the library does not build");
            let target =
                std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from(root).join("target"), PathBuf::from);
            target.join("release/libsyncedmem.so")
        }
    })
}

/// What a tool prints about the library.
fn about(tool: &str, arguments: &[&str]) -> String {
    let output = Command::new(tool).args(arguments).arg(library()).output();
    let output = output.unwrap_or_else(|error| panic!("{tool} (Debian package binutils): {error}"));
    assert!(output.status.success(), "{tool}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The values in brackets of the dynamic section's entries of a kind: `(NEEDED) … [libc.so.6]`.
fn dynamic(kind: &str) -> BTreeSet<String> {
    let section = about("readelf", &["--dynamic", "--wide"]);
    let entries = section.lines().filter(|line| line.contains(&format!("({kind})")));
    entries.filter_map(|line| Some(line.split_once('[')?.1.split_once(']')?.0.to_string())).collect()
}

#[test]
fn the_exported_symbols_are_exactly_those_of_the_list() {
    let symbols = about("nm", &["--dynamic", "--defined-only", "--format=posix"]);
    let exported: BTreeSet<&str> = symbols.lines().filter_map(|line| line.split(' ').next()).collect();
    let listed: BTreeSet<&str> = include_str!("../src/ffi/symbols.txt").lines().collect();
    let missing: Vec<_> = listed.difference(&exported).collect();
    let unlisted: Vec<_> = exported.difference(&listed).collect();
    assert!(
        missing.is_empty() && unlisted.is_empty(),
        "missing: {missing:?}; not in src/ffi/symbols.txt: {unlisted:?}"
    );
}

#[test]
fn it_needs_the_c_library_the_loader_and_the_unwinder_and_nothing_else() {
    let needed = dynamic("NEEDED");
    let loader = needed.iter().find(|name| name.starts_with("ld-linux")).expect("the loader").clone();
    assert_eq!(needed, BTreeSet::from(["libc.so.6", "libgcc_s.so.1", &loader].map(String::from)));
}

#[test]
fn it_has_a_soname_and_is_never_unloaded() {
    assert_eq!(dynamic("SONAME"), BTreeSet::from(["libsyncedmem.so.0".to_string()]));
    assert!(about("readelf", &["--dynamic", "--wide"]).contains("NODELETE"));
}

#[test]
fn preloaded_into_a_program_that_never_calls_it_it_does_nothing() {
    let with = |preload: Option<&PathBuf>| {
        let mut command = Command::new("cat");
        command.args(["/proc/self/maps", "/proc/self/status"]);
        preload.map(|library| command.env("LD_PRELOAD", library));
        let output = command.output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let libraries = |maps: &str| -> BTreeSet<String> {
        let paths = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
        paths
            .filter(|path| path.contains(".so"))
            .filter_map(|path| Some(path.rsplit_once('/')?.1.to_string()))
            .collect()
    };
    let loaded = with(Some(library()));
    let more: Vec<_> = libraries(&loaded).difference(&libraries(&with(None))).cloned().collect();
    let name = library().file_name().unwrap().to_str().unwrap().to_string();
    assert_eq!(more, ["libgcc_s.so.1".to_string(), name], "nothing is opened at load");
    assert!(loaded.contains("Threads:\t1\n"), "no thread is started at load");
}
