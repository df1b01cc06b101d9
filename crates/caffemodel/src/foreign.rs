//! Refuses files of other formats.

use crate::error::{Error, ErrorKind};
use crate::source::Source;

const BEGINNINGS: [(&[u8], &str, &str); 4] = [
    (b"\x89HDF\r\n", "is an HDF5 file", "read it with h5py: Caffe writes such files if snapshot_format is HDF5"),
    (b"version https://git-lfs", "is a Git LFS pointer: the model itself was not fetched", "run git lfs pull"),
    (b"\x1f\x8b", "is compressed with gzip", "unpack it with gunzip"),
    (b"PK\x03\x04", "is a zip archive", "unpack it, or open it as what it is: .npz and .pth files are such archives"),
];

/// The beginnings of a web page, after a byte order mark and white space. No message begins with `<`, so any file that does is a page.
const PAGES: [&[u8]; 4] = [b"<!doctype", b"<html", b"<?xml", b"<!--"];

fn is_page(found: &[u8]) -> bool {
    let text = found.strip_prefix(b"\xef\xbb\xbf").unwrap_or(found).trim_ascii_start();
    let begins = |page: &&[u8]| text.get(..page.len()).is_some_and(|text| text.eq_ignore_ascii_case(page));
    found.starts_with(b"<") || PAGES.iter().any(begins)
}

/// Bytes of a file that are examined.
const BEGINNING: usize = 512;

fn beginning<'b>(source: &Source, buffer: &'b mut [u8]) -> Result<&'b [u8], Error> {
    let length = buffer.len().min(usize::try_from(source.length()).unwrap_or(usize::MAX));
    source.read(&mut buffer[..length], 0)?;
    Ok(&buffer[..length])
}

pub(crate) fn refuse(source: &Source) -> Result<(), Error> {
    if source.length() == 0 {
        return Err(Error::format(source.name(), "is empty", "fetch or copy it again"));
    }
    let mut buffer = [0; BEGINNING];
    let found = beginning(source, &mut buffer)?;
    if is_page(found) {
        let advice = "the web site gave a page about the file: download the raw file, on GitHub by the button \"Raw\"";
        return Err(Error::new(ErrorKind::Unsupported, source.name(), "is an HTML or XML page, not a model", advice));
    }
    match BEGINNINGS.iter().find(|(begins, ..)| found.starts_with(begins)) {
        Some((_, what, advice)) => Err(Error::new(ErrorKind::Unsupported, source.name(), *what, advice)),
        None => Ok(()),
    }
}

/// A shorter file may be text by chance.
const SHORTEST_TEXT: usize = 16;

/// The error of a file; another one if the file is text, such as a net's description.
pub(crate) fn explain(source: &Source, error: Error) -> Error {
    let is_text = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
    let mut buffer = [0; BEGINNING];
    match beginning(source, &mut buffer) {
        Ok(text) if error.kind() == ErrorKind::Format && text.len() >= SHORTEST_TEXT && text.iter().all(is_text) => {
            let advice = "name the .caffemodel: a .prototxt describes a net, and holds no values";
            Error::new(ErrorKind::Unsupported, source.name(), "is text", advice)
        }
        _ => error,
    }
}
