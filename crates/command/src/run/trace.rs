//! The trace that the library writes: its file, and whether it holds events.

use std::ffi::{CString, OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use syncedmem::observe::trace::{self, Held};

/// A trace that was started.
#[derive(Debug)]
pub struct Trace {
    /// Its name as given to the library: `%p` stands for the process's id, `%%` for a percent sign.
    pub name: OsString,
    /// The file. `None` if the name has `%p`: each process then has its own.
    file: Option<PathBuf>,
    /// Length of the file without events, in bytes.
    begins: u64,
    /// An earlier trace in the file, until the program has started.
    earlier: Option<Held>,
    /// Length of the file before this command; `None` if there was no file.
    before: Option<u64>,
}

impl Trace {
    /// Opens the file and holds it until this command ends: otherwise programs that run one after the other would each
    /// start it afresh.
    pub fn take(name: &Path) -> Result<Trace, String> {
        let name = absolute(name);
        let path = CString::new(name.as_bytes()).map_err(|error| error.to_string())?;
        let file = file_of(&name);
        let before = file.as_ref().and_then(|file| fs::metadata(file).ok()).map(|file| file.len());
        let earlier = trace::hold(&path).map_err(|trouble| unwritable(&name, trouble))?;
        let begins = length(file.as_deref());
        Ok(Trace { name, file, begins, earlier, before })
    }

    /// Starts the file afresh if it holds an earlier trace. The program has started, and waits for this before it traces.
    pub fn begin(&mut self) -> Result<(), String> {
        let Some(earlier) = self.earlier.take() else { return Ok(()) };
        self.begins = earlier.begin().map_err(|trouble| unwritable(&self.name, trouble))?;
        Ok(())
    }

    /// Restores the file, because the program was not started.
    pub fn abandon(self) {
        let Some(file) = &self.file else { return };
        // Ignored: a trace without events may stay.
        let _ = match self.before {
            None => fs::remove_file(file),
            Some(0) => fs::OpenOptions::new().write(true).open(file).and_then(|file| file.set_len(0)),
            Some(_) => Ok(()),
        };
    }

    /// Whether events were written.
    pub fn is_there(&self) -> bool {
        self.file.as_ref().is_none_or(|file| length(Some(file)) > self.begins)
    }

    /// The file, if there is one and this command can read it.
    pub fn readable(&self) -> Option<&Path> {
        self.file.as_deref().filter(|file| file.extension().is_none_or(|extension| extension != "csv"))
    }
}

fn unwritable(name: &OsStr, trouble: trace::FileError) -> String {
    format!("{} cannot be written: {trouble}", name.to_string_lossy())
}

fn length(file: Option<&Path>) -> u64 {
    file.and_then(|file| fs::metadata(file).ok()).map_or(0, |file| file.len())
}

/// The absolute name, because the program may change its folder or start others elsewhere. Percent signs of the added
/// folder are doubled: only those of `name` are special.
fn absolute(name: &Path) -> OsString {
    let folder = if name.is_absolute() { None } else { std::env::current_dir().ok() };
    let Some(folder) = folder else { return name.as_os_str().to_owned() };
    let mut whole = Vec::new();
    for &byte in folder.as_os_str().as_bytes() {
        whole.extend(std::iter::repeat_n(byte, if byte == b'%' { 2 } else { 1 }));
    }
    whole.push(b'/');
    whole.extend(name.as_os_str().as_bytes());
    OsString::from_vec(whole)
}

/// The file of a name; `None` if the name has `%p`.
fn file_of(name: &OsStr) -> Option<PathBuf> {
    let mut file = Vec::new();
    let mut bytes = name.as_bytes().iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match if byte == b'%' { bytes.next_if(|next| matches!(next, b'p' | b'%')) } else { None } {
            Some(b'p') => return None,
            _ => file.push(byte),
        }
    }
    Some(OsString::from_vec(file).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_signs_mean_what_the_library_takes_them_for() {
        let file = |name: &str| file_of(OsStr::new(name)).map(|file| file.to_string_lossy().into_owned());
        assert_eq!(file("/a/t.json").as_deref(), Some("/a/t.json"));
        assert_eq!(file("/a/t-%p.json"), None);
        assert_eq!(file("/a/100%%.json").as_deref(), Some("/a/100%.json"));
        assert_eq!(file("/a/%%p.json").as_deref(), Some("/a/%p.json"));
        assert_eq!(file("/a/50%").as_deref(), Some("/a/50%"));
    }
}
