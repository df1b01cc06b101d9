//! The file of a trace or report.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use syncedmem_trace_reader::{ReadError, Reader};

use crate::output::is_standard;
use crate::progress;

const BUFFER_BYTES: usize = 1 << 18;
/// The beginning of a gzip file (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];

pub fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

pub fn name(path: &Path) -> String {
    if is_standard(path) { "standard input".to_string() } else { path.display().to_string() }
}

/// An unnamed file with the contents of standard input, of a pipe, or of a gzip file, because a reader goes back and forth.
/// `None`: the file is read as it is.
pub fn spooled(path: &Path) -> io::Result<Option<File>> {
    let is_standard = is_standard(path);
    let mut input = if is_standard { File::from(io::stdin().as_fd().try_clone_to_owned()?) } else { File::open(path)? };
    let about = input.metadata()?;
    if about.is_dir() {
        return Ok(None);
    }
    // The first bytes decide, not the name: standard input has none.
    let mut beginning = Vec::new();
    input.by_ref().take(GZIP.len() as u64).read_to_end(&mut beginning)?;
    let is_gzip = beginning == GZIP;
    if about.is_file() {
        input.rewind()?;
        if !is_gzip {
            return Ok(is_standard.then_some(input));
        }
        beginning.clear();
    }
    let input = progress::bar(about.len(), "reading").wrap_read(input);
    let mut input = BufReader::with_capacity(BUFFER_BYTES, Cursor::new(beginning).chain(input));
    let mut file = unnamed()?;
    if is_gzip { io::copy(&mut MultiGzDecoder::new(input), &mut file) } else { io::copy(&mut input, &mut file) }?;
    file.rewind()?;
    Ok(Some(file))
}

pub fn reader(path: &Path, spooled: Option<File>) -> Result<Reader, ReadError> {
    spooled.map_or_else(|| Reader::open(path), Reader::of)
}

/// A file in TMPDIR, already removed.
pub fn unnamed() -> io::Result<File> {
    for number in 0.. {
        let path = std::env::temp_dir().join(format!("syncedmem-input-{}-{number}", std::process::id()));
        match File::options().read(true).write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => return std::fs::remove_file(&path).map(|()| file),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 100 => {}
            Err(error) => return Err(io::Error::new(error.kind(), format!("{}: {error}; set TMPDIR", path.display()))),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
