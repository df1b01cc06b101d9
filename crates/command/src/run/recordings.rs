//! The folder that every process of the program records to, and what becomes of it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use syncedmem_trace::recording::HEADER;
use syncedmem_trace::recording::header::{MAGIC, RUN_AT, is_unfinished};
use syncedmem_trace_reader::{ReadError, Reader, family};

use super::follow::Follower;
use crate::export::{self, Format};
use crate::report::read::Open;
use crate::unfinished::RUN;

pub const IS_LINK: &str = "it is a symbolic link, which is not followed; name the file itself";
pub const NO_FILE: &str = "it is not a regular file; name one";

/// Removed when this is dropped.
#[derive(Debug)]
pub struct Recordings {
    pub folder: PathBuf,
    kept: Option<Kept>,
    stays: bool,
    follower: Option<Follower>,
}

#[derive(Debug)]
struct Kept {
    file: PathBuf,
    /// `None`: the recordings themselves.
    format: Option<Format>,
}

impl Recordings {
    /// In TMPDIR, or beside the recording that is kept, so that it can be moved.
    pub fn begin(trace: Option<&Path>) -> Result<Recordings, String> {
        let kept = trace.map(Kept::new).transpose()?;
        let beside = kept.as_ref().filter(|kept| kept.format.is_none()).map(|kept| kept.file.clone());
        let (name, hint) = match &beside {
            Some(file) => (file.clone(), "name another file with --trace"),
            None => (std::env::temp_dir().join("syncedmem"), "set TMPDIR to a folder that can be written"),
        };
        let folder = new_folder(&name).map_err(|error| {
            let place = name.parent().unwrap_or(Path::new("/")).display();
            format!("the recordings' folder cannot be created in {place}: {error}; {hint}")
        })?;
        Ok(Recordings { follower: Some(Follower::start(&folder)), folder, kept, stays: false })
    }

    /// Of SYNCEDMEM_TRACE: a file for each process. Percent signs are doubled: they mean nothing.
    pub fn setting(&self) -> OsString {
        let mut name = Vec::new();
        for &byte in self.folder.as_os_str().as_bytes() {
            name.extend(std::iter::repeat_n(byte, if byte == b'%' { 2 } else { 1 }));
        }
        name.extend(b"/%p");
        OsString::from_vec(name)
    }

    pub fn stop_following(&mut self) -> Vec<(PathBuf, Open)> {
        self.follower.take().map(Follower::finish).unwrap_or_default()
    }

    /// False too if the folder cannot be read.
    pub fn are_there(&self) -> bool {
        fs::read_dir(&self.folder).is_ok_and(|mut files| files.next().is_some())
    }

    pub fn are_for_reports(&self) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.format.is_none())
    }

    pub fn keep(&mut self) -> Result<Option<PathBuf>, String> {
        let Some(Kept { file, format }) = &self.kept else { return Ok(None) };
        let kept = match format {
            Some(format) => {
                Reader::open(&self.folder).map_err(export::Error::from).and_then(|all| export::file(all, *format, file))
            }
            None => move_all(&self.folder, file),
        };
        match kept {
            Err(export::Error::Read(ReadError::NoRecordings)) => Ok(None),
            Ok(()) => Ok(Some(file.clone())),
            Err(error) => {
                self.stays = true;
                let folder = self.folder.display();
                Err(format!("{} cannot be written: {error}; the recordings stay in {folder}", file.display()))
            }
        }
    }
}

impl Drop for Recordings {
    fn drop(&mut self) {
        if !self.stays {
            // Ignored: files may stay.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

impl Kept {
    /// Refuses a file that holds something else.
    fn new(file: &Path) -> Result<Kept, String> {
        // Absolute: the program may change its folder.
        let file = std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf());
        let format = Format::of(&file);
        let refused = |why: &str| format!("{} cannot be written: {why}", file.display());
        match fs::symlink_metadata(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(refused(&error.to_string())),
            Ok(about) if about.is_symlink() => {
                return Err(refused(IS_LINK));
            }
            Ok(about) if !about.is_file() => return Err(refused(NO_FILE)),
            Ok(about) if about.len() > 0 && !begins_alike(&file, format) => {
                return Err(refused("there is something in it, and not a trace; name another file"));
            }
            Ok(_) => {}
        }
        match file.parent().map(fs::metadata) {
            Some(Ok(_)) => Ok(Kept { file, format }),
            _ => Err(refused("there is no such folder; create it, or name another file")),
        }
    }
}

fn begins_alike(file: &Path, format: Option<Format>) -> bool {
    let mut beginning = Vec::new();
    let read = File::open(file).and_then(|file| file.take(HEADER + 1).read_to_end(&mut beginning));
    read.is_ok()
        && match format {
            Some(format) => beginning.starts_with(format.beginning()),
            None => beginning.starts_with(&MAGIC) || is_unfinished(&beginning),
        }
}

fn new_folder(name: &Path) -> io::Result<PathBuf> {
    for number in 0..100 {
        let mut folder = name.as_os_str().to_owned();
        folder.push(format!("{RUN}{}-{number}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.map(|()| folder.into()),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// To FILE, and to FILE with their names behind it, as one run. Those of the run that FILE had are removed.
fn move_all(folder: &Path, file: &Path) -> Result<(), export::Error> {
    let (members, _) = family::of(folder)?;
    let (first, others) = members.split_first().ok_or(ReadError::NoRecordings)?;
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
        // Not the process's id: a process that executes programs has several recordings.
        name.push(member.path.file_name().unwrap_or_default());
        fs::rename(&member.path, OsStr::new(&name))?;
    }
    Ok(fs::rename(&first.path, file)?)
}
