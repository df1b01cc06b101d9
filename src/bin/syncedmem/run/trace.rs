//! The trace that the library writes: where it is, and whether something is in it.

use std::ffi::{CString, OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use syncedmem::observe::trace::{self, Held};

/// A trace that is begun.
#[derive(Debug)]
pub struct Trace {
    /// Its name as the library takes it: `%p` stands for a process's number, and `%%` for a percent sign.
    pub name: OsString,
    /// The file; with `%p` in its name there are several, which only their writers know.
    file: Option<PathBuf>,
    /// How long the file is before anything happened.
    begins: u64,
    /// An earlier trace that is in the file, until the program has been started.
    earlier: Option<Held>,
    /// How long the file was before this command; `None` where there was none.
    before: Option<u64>,
}

impl Trace {
    /// Takes the file, and keeps it as long as this command runs: programs that run one after the other would each begin it anew.
    pub fn take(name: &Path) -> Result<Trace, String> {
        let name = absolute(name);
        let path = CString::new(name.as_bytes()).map_err(|error| error.to_string())?;
        let file = file_of(&name);
        let before = file.as_ref().and_then(|file| fs::metadata(file).ok()).map(|file| file.len());
        let earlier = trace::hold(&path).map_err(|trouble| unwritable(&name, trouble))?;
        let begins = length(file.as_deref());
        Ok(Trace { name, file, begins, earlier, before })
    }

    /// Begins the file anew where an earlier trace is in it: the program was started, and waits for that before it traces.
    pub fn begin(&mut self) -> Result<(), String> {
        let Some(earlier) = self.earlier.take() else { return Ok(()) };
        self.begins = earlier.begin().map_err(|trouble| unwritable(&self.name, trouble))?;
        Ok(())
    }

    /// Leaves everything as it was: the program could not be started.
    pub fn abandon(self) {
        let Some(file) = &self.file else { return };
        // A trace without an event that cannot be taken back is no reason to fail.
        let _ = match self.before {
            None => fs::remove_file(file),
            Some(0) => fs::OpenOptions::new().write(true).open(file).and_then(|file| file.set_len(0)),
            Some(_) => Ok(()),
        };
    }

    /// Whether something was written.
    pub fn is_there(&self) -> bool {
        self.file.as_ref().is_none_or(|file| length(Some(file)) > self.begins)
    }

    /// The file, where there is one and this command can read it.
    pub fn readable(&self) -> Option<&Path> {
        self.file.as_deref().filter(|file| file.extension().is_none_or(|extension| extension != "csv"))
    }
}

fn unwritable(name: &OsStr, trouble: trace::Trouble) -> String {
    format!("{} cannot be written: {trouble}", name.to_string_lossy())
}

fn length(file: Option<&Path>) -> u64 {
    file.and_then(|file| fs::metadata(file).ok()).map_or(0, |file| file.len())
}

/// The name from the root: the program may change its folder, or start another one elsewhere. A percent sign of the folder
/// is doubled: only those of the name itself mean something.
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

/// The file that a name means, unless it means one for each process.
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
