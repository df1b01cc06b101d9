//! Finds the Caffe that a Python program would load, by the rules of `sys.path`, without running Python.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

#[derive(Debug, Default)]
pub struct Python {
    pub script: Option<PathBuf>,
    /// `sys.path`, as far as files show it.
    folders: Vec<PathBuf>,
}

impl Python {
    pub fn new(interpreter: &Path, arguments: &[OsString]) -> Python {
        let script = script(arguments);
        let beside = script.as_deref().map(|script| {
            let script = script.canonicalize().unwrap_or_else(|_| script.to_path_buf());
            script.parent().map(Path::to_path_buf).unwrap_or_default()
        });
        // If there is no script (-c, -m), Python begins in its working directory.
        let mut folders = vec![beside.unwrap_or_else(|| PathBuf::from("."))];
        let given = std::env::var_os("PYTHONPATH").unwrap_or_default();
        folders.extend(std::env::split_paths(&given).filter(|folder| !folder.as_os_str().is_empty()));
        // A virtual environment's interpreter is a link to the system's.
        let itself = interpreter.canonicalize().ok();
        for prefix in
            [Some(interpreter), itself.as_deref()].into_iter().flatten().filter_map(|path| path.parent()?.parent())
        {
            folders.extend(packages(prefix));
        }
        folders.push("/usr/lib/python3/dist-packages".into());
        Python { script, folders }
    }

    /// The module that `import caffe` would load.
    pub fn caffe(&self) -> Option<PathBuf> {
        self.folders.iter().find_map(|folder| {
            let is_module = |path: &PathBuf| {
                let name = path.file_name().unwrap_or_default().as_bytes();
                name.starts_with(b"_caffe.") && name.ends_with(b".so")
            };
            entries(&folder.join("caffe")).into_iter().find(is_module)
        })
    }

    /// Whether the script itself imports caffe; `None` if it cannot be read.
    pub fn imports_caffe(&self) -> Option<bool> {
        let text = fs::read(self.script.as_ref()?).ok()?;
        Some(text.split(|&byte| byte == b'\n').any(|line| {
            let mut words = line.split(|byte| b" \t\r,;.".contains(byte)).filter(|word| !word.is_empty());
            matches!(words.next(), Some(b"import" | b"from")) && words.any(|word| word == b"caffe")
        }))
    }
}

/// The script among the arguments; `None` with `-c`, `-m` and `-`.
fn script(arguments: &[OsString]) -> Option<PathBuf> {
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_bytes() {
            b"-c" | b"-m" | b"-" => return None,
            b"-W" | b"-X" | b"--check-hash-based-pycs" => drop(arguments.next()),
            [b'-', ..] => {}
            _ => return Some(argument.into()),
        }
    }
    None
}

/// The folders of packages below a prefix such as `/usr/local`.
fn packages(prefix: &Path) -> Vec<PathBuf> {
    let is_version = |folder: &PathBuf| folder.file_name().is_some_and(|name| name.as_bytes().starts_with(b"python"));
    let versions = entries(&prefix.join("lib")).into_iter().filter(is_version);
    versions.flat_map(|folder| ["site-packages", "dist-packages"].map(|packages| folder.join(packages))).collect()
}

/// The entries of a folder, sorted by name.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries
}

pub fn is_python(program: &OsStr) -> bool {
    Path::new(program).file_name().is_some_and(|name| name.as_bytes().starts_with(b"python"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_comes_after_the_options_of_the_interpreter() {
        let found = |line: &str| {
            let arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            script(&arguments).map(|script| script.display().to_string())
        };
        assert_eq!(found("train.py --lr 3").as_deref(), Some("train.py"));
        assert_eq!(found("-u -W ignore -X dev sub/train.py -c x").as_deref(), Some("sub/train.py"));
        for without in ["", "-u", "-c train.py", "-m train", "- train.py"] {
            assert_eq!(found(without), None, "{without}");
        }
    }
}
