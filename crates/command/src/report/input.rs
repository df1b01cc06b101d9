//! The file of a trace.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use syncedmem_trace::recording::HEADER;
use syncedmem_trace_reader::{ReadError, Reader, family};

use crate::output::is_standard;
use crate::unfinished::Unfinished;
use crate::{progress, say};

const BUFFER_BYTES: usize = 1 << 18;
/// The beginning of a gzip file (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];

pub fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

pub fn name(path: &Path) -> String {
    if is_standard(path) { "standard input".to_string() } else { path.display().to_string() }
}

/// A recording, or a folder.
pub struct Input {
    path: PathBuf,
    /// The contents of standard input, of a pipe or of a gzip file, because a reader goes back and forth.
    spooled: Option<File>,
    /// Of a run that has not given its recording the name.
    unfinished: Option<Unfinished>,
}

impl Input {
    /// The beginning decides what it is, not the name: standard input has none. Nothing else is copied, and of a recording at most the bytes
    /// that its header gives it.
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
        let bar = progress::bar(if is_read_in_place { 0 } else { about.len() }, "reading");
        let input = BufReader::with_capacity(BUFFER_BYTES, Cursor::new(beginning).chain(bar.wrap_read(input)));
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

/// Where the copy found no room.
fn in_temporary(error: io::Error) -> io::Error {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    match error.kind() {
        FileTooLarge | QuotaExceeded | StorageFull => io::Error::other(format!(
            "its copy finds no room in {}: {}; set TMPDIR to a folder with room",
            std::env::temp_dir().display(),
            say::reason(&error)
        )),
        _ => error,
    }
}
