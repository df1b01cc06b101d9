//! The shared library as users get it: what `cargo test` builds is for tests alone.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// The file that `SYNCEDMEM_LIBRARY` names; without it, the release build, made here.
pub fn library() -> &'static PathBuf {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| match std::env::var_os("SYNCEDMEM_LIBRARY") {
        Some(path) => path.into(),
        None => {
            let root = env!("CARGO_MANIFEST_DIR");
            let target =
                std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from(root).join("target"), PathBuf::from);
            // To the letter as CMake has it built, so that it is built once.
            let status = Command::new(env!("CARGO"))
                .args(["rustc", "--package", "syncedmem", "--lib", "--crate-type", "cdylib,staticlib"])
                .args(["--release", "--target-dir"])
                .arg(&target)
                .current_dir(root)
                .status();
            assert!(status.is_ok_and(|status| status.success()), "the library does not build");
            target.join("release/libsyncedmem.so")
        }
    })
}
