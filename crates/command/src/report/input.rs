//! A trace's bytes: of a file or of standard input, decompressed if they are gzip's.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::progress;

/// Stands for standard input, and for standard output.
pub const STANDARD: &str = "-";

const BUFFER_BYTES: usize = 1 << 18;
/// The first bytes of every gzip file (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];

pub fn is_standard(path: &Path) -> bool {
    path == Path::new(STANDARD)
}

/// The name for reports and messages.
pub fn name(path: &Path) -> String {
    if is_standard(path) { "standard input".to_string() } else { path.display().to_string() }
}

/// Opens a file, or standard input.
pub fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    if is_standard(path) {
        return decompressed(io::stdin());
    }
    let file = File::open(path)?;
    let bytes = file.metadata().map_or(0, |about| about.len());
    decompressed(progress::bar(bytes, "reading").wrap_read(file))
}

/// The first bytes decide, not the name: standard input has none.
fn decompressed(mut input: impl Read + 'static) -> io::Result<Box<dyn BufRead>> {
    let mut beginning = Vec::new();
    input.by_ref().take(GZIP.len() as u64).read_to_end(&mut beginning)?;
    let is_gzip = beginning == GZIP;
    let whole = BufReader::with_capacity(BUFFER_BYTES, io::Cursor::new(beginning).chain(input));
    Ok(if is_gzip {
        Box::new(BufReader::with_capacity(BUFFER_BYTES, MultiGzDecoder::new(whole)))
    } else {
        Box::new(whole)
    })
}
