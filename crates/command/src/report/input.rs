//! A recording from a file or from standard input, decompressed if it is gzip's.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Seek};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use syncedmem_trace_reader::{ReadError, Reader};

use crate::progress;

/// Stands for standard input, and for standard output.
pub const STANDARD: &str = "-";

/// The first bytes of every gzip file (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];

pub fn is_standard(path: &Path) -> bool {
    path == Path::new(STANDARD)
}

/// The name for reports and messages.
pub fn name(path: &Path) -> String {
    if is_standard(path) { "standard input".to_string() } else { path.display().to_string() }
}

/// Opens a recording with its family, the recordings in a folder, or standard input.
pub fn open(path: &Path) -> Result<Reader, ReadError> {
    if is_standard(path) {
        return Reader::of(spooled(io::stdin())?);
    }
    let mut file = File::open(path)?;
    let mut beginning = Vec::new();
    // A folder cannot be read.
    let _ = file.by_ref().take(GZIP.len() as u64).read_to_end(&mut beginning);
    if beginning != GZIP {
        return Reader::open(path);
    }
    file.rewind()?;
    let bytes = file.metadata()?.len();
    Reader::of(spooled(progress::bar(bytes, "reading").wrap_read(file))?)
}

/// The contents in a file without a name: they are not read in their order. The first bytes say whether gzip compressed them:
/// standard input has no name.
fn spooled(mut input: impl Read) -> io::Result<File> {
    let mut beginning = Vec::new();
    input.by_ref().take(GZIP.len() as u64).read_to_end(&mut beginning)?;
    let is_gzip = beginning == GZIP;
    let mut whole = BufReader::with_capacity(1 << 18, io::Cursor::new(beginning).chain(input));
    let name = std::env::temp_dir().join(format!("syncedmem-spool-{}", std::process::id()));
    let mut file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&name)?;
    fs::remove_file(name)?;
    if is_gzip { io::copy(&mut MultiGzDecoder::new(whole), &mut file)? } else { io::copy(&mut whole, &mut file)? };
    file.rewind()?;
    Ok(file)
}
