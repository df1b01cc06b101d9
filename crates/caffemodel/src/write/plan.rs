//! Files to be written, as lists of parts.

use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use super::new_file::NewFile;
use super::values::{Failed, Values};
use crate::element::Element;
use crate::error::{Error, ErrorKind};
use crate::source::Source;

/// Bytes that are read and written at once.
const BLOCK: usize = 256 << 10;

/// The largest message that protobuf reads.
const MOST_BYTES: u64 = i32::MAX as u64;

pub(crate) enum Piece<'v> {
    /// Of the old file.
    Copy(&'v Source, Range<u64>),
    Bytes(Vec<u8>),
    Values(Element, Values<'v>, Place<'v>),
}

/// Layer, its name, and blob.
pub(crate) type Place<'v> = (usize, &'v str, usize);

impl Piece<'_> {
    fn length(&self) -> u64 {
        match self {
            Self::Copy(_, range) => range.end - range.start,
            Self::Bytes(bytes) => bytes.len() as u64,
            // Counted before the part was made.
            Self::Values(element, values, _) => values.count * element.size() as u64,
        }
    }
}

#[derive(Default)]
pub(crate) struct Parts<'v>(Vec<Piece<'v>>);

impl<'v> Parts<'v> {
    pub fn length(&self) -> u64 {
        self.0.iter().map(Piece::length).fold(0, u64::saturating_add)
    }

    /// Whether copied bytes would follow the last ones, without memory.
    pub fn continues(&self, at: u64) -> bool {
        matches!(self.0.last(), Some(Piece::Copy(_, last)) if last.end == at)
    }

    pub fn push(&mut self, part: Piece<'v>) {
        match (self.0.last_mut(), part) {
            (Some(Piece::Copy(_, last)), Piece::Copy(_, range)) if last.end == range.start => last.end = range.end,
            (_, part) => self.0.push(part),
        }
    }

    pub fn append(&mut self, parts: Parts<'v>) {
        parts.0.into_iter().for_each(|part| self.push(part));
    }

    pub fn write(self, path: &Path, may_be_large: bool, progress: &mut dyn FnMut(u64)) -> Result<(), Error> {
        let name = path.display().to_string();
        let length = self.length();
        if length > MOST_BYTES && !may_be_large {
            let what = format!("would have {length} bytes, and Caffe reads at most {MOST_BYTES}");
            let advice = "allow large files if it is not for Caffe";
            return Err(Error::new(ErrorKind::Unsupported, &name, what, advice));
        }
        let failed = |cause: io::Error| {
            let advice = match cause.kind() {
                io::ErrorKind::FileTooLarge => {
                    "raise the limit of a file's length (ulimit -f): one that was there is unchanged"
                }
                _ => "make room, or name another file: one that was there is unchanged",
            };
            Error::new(ErrorKind::Io, &name, "cannot be written", advice).because(cause)
        };
        let mut block = Vec::new();
        block.try_reserve_exact(BLOCK).map_err(|_| failed(io::ErrorKind::OutOfMemory.into()))?;
        block.resize(BLOCK, 0);
        let mut file = NewFile::new(path).map_err(failed)?;
        let mut put = |bytes: &[u8]| {
            file.write_all(bytes).map_err(failed)?;
            progress(bytes.len() as u64);
            Ok(())
        };
        for part in self.0 {
            match part {
                Piece::Bytes(bytes) => put(&bytes)?,
                Piece::Copy(source, range) => copy(source, range, &mut block, &mut put)?,
                Piece::Values(element, values, (layer, layer_name, blob)) => {
                    values.write(element, &mut block, &mut put).map_err(|error| match error {
                        Failed::Write(error) => error,
                        Failed::Read(cause) => {
                            let (what, advice) = ("new values could not be read", "a file that was there is unchanged");
                            let error = Error::new(ErrorKind::Io, &name, what, advice).because(cause);
                            error.in_blob(blob).in_layer(layer, layer_name)
                        }
                    })?;
                }
            }
        }
        file.publish().map_err(failed)
    }
}

fn copy(
    source: &Source,
    range: Range<u64>,
    block: &mut [u8],
    put: &mut impl FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut at = range.start;
    while at < range.end {
        let length = (range.end - at).min(block.len() as u64) as usize;
        source.read(&mut block[..length], at)?;
        put(&block[..length])?;
        at += length as u64;
    }
    Ok(())
}
