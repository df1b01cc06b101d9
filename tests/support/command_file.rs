//! The `syncedmem` command, and the libraries that it preloads.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The command's file. Cargo builds it once in each process, which takes a moment where it is built already.
pub fn command_file() -> &'static PathBuf {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("");
        let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into()));
        // Cargo's tests leave an older library where the command finds it.
        let packages =
            ["syncedmem", "syncedmem-command", "syncedmem-net"].map(|package| format!("--package={package}"));
        build.args(["build", "--quiet"]).args(packages).arg("--target-dir").arg(&target);
        build.current_dir(env!("CARGO_MANIFEST_DIR"));
        assert!(build.status().is_ok_and(|status| status.success()), "the command does not build");
        target.join("debug/syncedmem")
    })
}
