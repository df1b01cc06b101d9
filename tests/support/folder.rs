//! A folder of a test's own, and the C and C++ programs that the test compiles there.

use std::ffi::OsStr;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// The compiler that the `cc` crate finds (`CC` and `CXX` name another), with no flags but those of the environment.
pub fn compiler(is_cpp: bool) -> Command {
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let mut build = cc::Build::new();
    build.cpp(is_cpp).target(&target).host(&target).opt_level(0).cargo_metadata(false).no_default_flags(true);
    build.get_compiler().to_command()
}

/// Removed at the end of its scope with what is in it.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Folder {
        Folder(tempfile::Builder::new().prefix("syncedmem-test-").tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub fn source(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Compiles and links `output` with these arguments, in the folder; as C++ where a source is a `.cpp` file.
    pub fn compile<A: AsRef<OsStr>>(&self, output: &str, arguments: &[A]) -> PathBuf {
        let path = self.path(output);
        let is_cpp = arguments.iter().any(|argument| Path::new(argument).extension().is_some_and(|end| end == "cpp"));
        let mut command = compiler(is_cpp);
        command.args(["-w", "-o"]).arg(&path).args(arguments).current_dir(&self.0);
        let done = command.output().unwrap();
        assert!(done.status.success(), "{output}: {}", String::from_utf8_lossy(&done.stderr));
        path
    }
}

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        self.0.path()
    }
}
