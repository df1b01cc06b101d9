//! The folder that every process of the program records to. At the end the recordings are kept or removed.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use syncedmem_trace::recording::HEADER;
use syncedmem_trace::recording::header::{MAGIC, RUN_AT, is_unfinished};
use syncedmem_trace_reader::ReadError;
use syncedmem_trace_reader::family::{self, Member};
use tempfile::TempDir;

use super::follow::Follower;
use crate::report::input::RUN;
use crate::report::read::Open;
use crate::say;

pub const IS_LINK: &str = "it is a symbolic link, which is not followed; name the file itself";
pub const NO_FILE: &str = "it is not a regular file; name one";

#[derive(Debug)]
pub struct Recordings {
    /// The folder is removed when this is dropped.
    folder: TempDir,
    kept: Option<PathBuf>,
    follower: Option<Follower>,
}

impl Recordings {
    /// Creates the folder in TMPDIR, or beside the recording that is kept, so that files can be renamed.
    pub fn begin(trace: Option<&Path>) -> Result<Recordings, String> {
        let kept = trace.map(kept).transpose()?;
        let (name, hint) = match &kept {
            Some(file) => (file.clone(), "name another file with --trace"),
            None => (std::env::temp_dir().join("syncedmem"), "set TMPDIR to a folder that can be written"),
        };
        let mut prefix = name.file_name().unwrap_or_default().to_owned();
        prefix.push(format!("{RUN}{}-", std::process::id()));
        let mut folder = tempfile::Builder::new();
        let folder =
            folder.prefix(&prefix).permissions(Permissions::from_mode(0o700)).tempdir_in(name.with_file_name(""));
        let folder = folder.map_err(|error| format!("the recordings' folder cannot be created: {error}; {hint}"))?;
        Ok(Recordings { follower: Some(Follower::start(folder.path())), folder, kept })
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The value of SYNCEDMEM_TRACE: a file for each process. Percent signs of the folder are doubled.
    pub fn setting(&self) -> OsString {
        let mut name = Vec::new();
        for &byte in self.folder().as_os_str().as_bytes() {
            name.extend(std::iter::repeat_n(byte, if byte == b'%' { 2 } else { 1 }));
        }
        name.extend(b"/%p");
        OsString::from_vec(name)
    }

    pub fn stop_following(&mut self) -> Vec<(PathBuf, Open)> {
        self.follower.take().map(Follower::finish).unwrap_or_default()
    }

    /// Whether there are recordings. False also if the folder cannot be read.
    pub fn are_there(&self) -> bool {
        fs::read_dir(&self.folder).is_ok_and(|mut files| files.next().is_some())
    }

    pub fn keep(&mut self) -> Result<Option<PathBuf>, String> {
        let Some(file) = &self.kept else { return Ok(None) };
        let kept = match family::of(self.folder()) {
            Err(ReadError::NoRecordings) => return Ok(None),
            Err(error) => Err(error.to_string()),
            Ok((members, _)) => move_all(&members, file).map_err(|error| say::reason(&error)),
        };
        kept.map(|()| Some(file.clone())).map_err(|why| {
            self.folder.disable_cleanup(true);
            let folder = self.folder.path().display();
            format!("{} cannot be written: {why}; the recordings stay in {folder}", file.display())
        })
    }
}

/// The absolute path: the program may change its working directory. Refuses a file that contains something else.
fn kept(file: &Path) -> Result<PathBuf, String> {
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf());
    let refused = |why: &str| Err(format!("{} cannot be written: {why}", file.display()));
    if file.extension().is_some_and(|end| end == "json") {
        return refused("a trace is not JSON; give it another name, and export it later: syncedmem export FILE");
    }
    match fs::symlink_metadata(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return refused(&error.to_string()),
        Ok(about) if about.is_symlink() => return refused(IS_LINK),
        Ok(about) if !about.is_file() => return refused(NO_FILE),
        Ok(about) if about.len() > 0 && !begins_alike(&file) => {
            return refused("there is something in it, and not a trace; name another file");
        }
        Ok(_) => {}
    }
    match file.parent().map(fs::metadata) {
        Some(Ok(_)) => Ok(file),
        _ => refused("there is no such folder; create it, or name another file"),
    }
}

fn begins_alike(file: &Path) -> bool {
    let mut beginning = Vec::new();
    let read = File::open(file).and_then(|file| file.take(HEADER + 1).read_to_end(&mut beginning));
    read.is_ok() && (beginning.starts_with(&MAGIC) || is_unfinished(&beginning))
}

/// Renames the recordings to FILE and FILE.NAME, as one run. Recordings of the earlier run of FILE are removed.
fn move_all(members: &[Member], file: &Path) -> io::Result<()> {
    let Some((first, others)) = members.split_first() else { return Ok(()) };
    let before = family::of(file).map(|(before, _)| before).unwrap_or_default();
    for old in before.iter().filter(|old| old.path != file) {
        fs::remove_file(&old.path)?;
    }
    for member in others {
        OpenOptions::new()
            .write(true)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&member.path)?
            .write_all_at(&first.run.to_le_bytes(), RUN_AT)?;
        let mut name = file.as_os_str().to_owned();
        name.push(".");
        // The name and not the process id: a process that executes programs has several recordings.
        name.push(member.path.file_name().unwrap_or_default());
        fs::rename(&member.path, OsStr::new(&name))?;
    }
    fs::rename(&first.path, file)
}
