//! A folder of a test's own, and the C and C++ programs that the test compiles there.

use std::ffi::OsStr;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The compiler that the `cc` crate finds (`CC` and `CXX` name another), with no flags but those of the environment.
pub fn compiler(is_cpp: bool) -> Command {
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let mut build = cc::Build::new();
    build.cpp(is_cpp).target(&target).host(&target).opt_level(0).cargo_metadata(false).no_default_flags(true);
    build.get_compiler().to_command()
}

/// Removed at the end of its scope with what is in it.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Folder {
        let pattern = format!("{}/syncedmem-test-XXXXXX\0", std::env::temp_dir().display());
        let mut name = pattern.into_bytes();
        // SAFETY: `name` ends with a zero byte and is written in place.
        assert!(!unsafe { libc::mkdtemp(name.as_mut_ptr().cast()) }.is_null());
        name.pop();
        Folder(PathBuf::from(String::from_utf8(name).unwrap()))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
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
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that cannot be removed does not fail the test.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
