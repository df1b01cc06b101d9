//! The input of a command: a recording or a folder of recordings, compressed or not, or standard input.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufReader, Cursor, Read, Seek};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use syncedmem_trace::recording::HEADER;
use syncedmem_trace_reader::{ReadError, Reader, family};

use crate::output::is_standard;
use crate::say;

const BUFFER_BYTES: usize = 1 << 18;
/// The beginning of a gzip file (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];

pub fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

pub fn name(path: &Path) -> String {
    if is_standard(path) { "standard input".to_string() } else { path.display().to_string() }
}

pub struct Input {
    path: PathBuf,
    /// A copy of standard input, of a pipe or of a gzip file: the reader does not read in order.
    spooled: Option<File>,
    /// The run whose recording does not have the name yet.
    unfinished: Option<Unfinished>,
}

impl Input {
    /// Opens the input. Its first bytes decide what it is, and not its name, which standard input lacks. Only recordings are copied,
    /// and at most the bytes that the header names.
    pub fn open(path: &Path) -> Result<Input, ReadError> {
        let unfinished = if is_standard(path) { None } else { Unfinished::of(path) };
        let is_elsewhere = unfinished.as_ref().is_some_and(|run| !run.has_earlier);
        let recording = |spooled| Ok(Input { path: path.to_path_buf(), spooled, unfinished });
        if is_elsewhere {
            return recording(None);
        }
        let mut input =
            if is_standard(path) { File::from(io::stdin().as_fd().try_clone_to_owned()?) } else { File::open(path)? };
        let about = input.metadata()?;
        if about.is_dir() {
            return recording(None);
        }
        if about.is_file() {
            input.rewind()?;
        }
        let mut beginning = Vec::new();
        input.by_ref().take(GZIP.len() as u64).read_to_end(&mut beginning)?;
        let is_gzip = beginning == GZIP;
        let is_read_in_place = about.is_file() && !is_gzip;
        let original = if is_read_in_place { Some(input.try_clone()?) } else { None };
        let input = BufReader::with_capacity(BUFFER_BYTES, Cursor::new(beginning).chain(input));
        let mut contents: Box<dyn Read> = if is_gzip { Box::new(MultiGzDecoder::new(input)) } else { Box::new(input) };
        let mut beginning = Vec::new();
        contents.by_ref().take(HEADER + 1).read_to_end(&mut beginning)?;
        let most = family::header_in(&beginning)?.layout.bytes();
        if let Some(file) = original {
            return recording(is_standard(path).then_some(file));
        }
        let temporary = tempfile::tempfile();
        let mut file = temporary.map_err(|error| io::Error::new(error.kind(), format!("{error}; set TMPDIR")))?;
        let copied = io::copy(&mut Cursor::new(beginning).chain(contents).take(most + 1), &mut file);
        if copied.map_err(in_temporary)? > most {
            return Err(ReadError::TooLong(most));
        }
        recording(Some(file))
    }

    pub fn name(&self) -> String {
        name(self.path.file_name().map_or(&self.path, Path::new))
    }

    pub fn note(&self) -> Option<String> {
        self.unfinished.as_ref().map(Unfinished::to_string)
    }

    pub fn reader(self) -> Result<Reader, ReadError> {
        match (self.spooled, self.unfinished) {
            (Some(file), _) => Reader::of(file),
            (None, Some(run)) if !run.has_earlier => Reader::open(&run.folder).map_err(|error| match error {
                ReadError::NoRecordings => io::Error::other(format!("{run}: nothing yet")).into(),
                error => error,
            }),
            _ => Reader::open(&self.path),
        }
    }
}

/// Explains that the folder of temporary files has no space for the copy.
fn in_temporary(error: io::Error) -> io::Error {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    match error.kind() {
        FileTooLarge | QuotaExceeded | StorageFull => io::Error::other(format!(
            "there is no space for a copy in {}: {}; set TMPDIR to a folder with space",
            std::env::temp_dir().display(),
            say::reason(&error)
        )),
        _ => error,
    }
}

/// Stands between the name of a recording and the numbers of the run, in the name of the run's folder beside it.
pub const RUN: &str = "-run-";

/// The folder of a run whose recording does not have its name yet: the run continues, or was killed.
#[derive(Debug)]
struct Unfinished {
    folder: PathBuf,
    process: u32,
    is_going_on: bool,
    /// A file with the name exists: an earlier recording.
    has_earlier: bool,
}

impl Unfinished {
    /// Finds a run that continues, or else the newest. If a file with the name exists, only a run that continues.
    fn of(file: &Path) -> Option<Unfinished> {
        let has_earlier = file.exists();
        let (name, folder) = (file.file_name()?, file.with_file_name("."));
        let name = [name.as_bytes(), RUN.as_bytes()].concat();
        let all = fs::read_dir(folder).ok()?.flatten().filter_map(|entry| {
            let other = entry.file_name();
            let (process, _) = std::str::from_utf8(other.as_bytes().strip_prefix(&*name)?).ok()?.split_once('-')?;
            let process = process.parse().ok()?;
            let changed = entry.metadata().ok().filter(fs::Metadata::is_dir)?.modified().ok()?;
            let is_going_on = is_of_this_command(process);
            let found = Unfinished { folder: file.with_file_name(other), process, is_going_on, has_earlier };
            Some(((is_going_on, changed), found))
        });
        let newest = all.max_by_key(|(order, _)| *order).map(|(_, found)| found);
        newest.filter(|found| found.is_going_on || !has_earlier)
    }
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Unfinished { folder, process, is_going_on, has_earlier } = self;
        let folder = folder.display();
        match (is_going_on, has_earlier) {
            (true, true) => {
                write!(f, "this is an earlier run: that of process {process} goes on, and records to {folder}")
            }
            (true, false) => {
                write!(f, "the run of process {process} goes on: this is what it has recorded to {folder}")
            }
            (false, _) => {
                write!(f, "the run of process {process} was cut off: this is what it had recorded to {folder}")
            }
        }
    }
}

/// Whether a process with this number runs this command. The kernel uses numbers again, so the name is compared.
fn is_of_this_command(process: u32) -> bool {
    let name = |process: &dyn fmt::Display| fs::read(format!("/proc/{process}/comm")).ok();
    name(&"self").is_some_and(|own| name(&process) == Some(own))
}
