//! The arrays of a safetensors or npz file.

mod npz;
mod safetensors;

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use caffemodel::Element;
use crc32fast::Hasher;
use flate2::read::DeflateDecoder;

use super::types::Format;

/// Opens a file and lists its arrays.
pub fn open(path: &Path, format: Format) -> Result<(Arc<File>, Vec<Given>), String> {
    let failed = |error| format!("cannot be opened: {error}; check the path and the file's permissions");
    let Some((file, _)) = caffemodel::open_regular(path).map_err(failed)? else {
        return Err("is a folder, a pipe or a device; name a regular file".into());
    };
    let file = Arc::new(file);
    let given = match format {
        Format::Safetensors => safetensors::list(&file)?,
        Format::Npz => npz::list(&file)?,
    };
    Ok((file, given))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    Of(Element),
    /// The upper half of a float.
    Bfloat16,
    /// The name of a type that no model has.
    Other(String),
}

impl Type {
    /// The type that values are read as.
    pub fn element(&self) -> Option<Element> {
        match self {
            Self::Of(element) => Some(*element),
            Self::Bfloat16 => Some(Element::F32),
            Self::Other(_) => None,
        }
    }

    pub fn name(&self) -> String {
        match self {
            Self::Of(element) => element.to_string(),
            Self::Bfloat16 => "bfloat16".into(),
            Self::Other(name) => name.clone(),
        }
    }

    /// Bytes of one value in the file.
    pub fn size(&self) -> u64 {
        match self {
            Self::Of(element) => element.size() as u64,
            Self::Bfloat16 => 2,
            Self::Other(_) => 0,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Given {
    pub name: String,
    pub of: Type,
    pub shape: Box<[u64]>,
    pub stored: Stored,
}

#[derive(Clone, Debug)]
pub struct Stored {
    pub at: u64,
    /// Bytes in the file.
    pub bytes: u64,
    pub is_deflated: bool,
    /// The checksum of the unpacked bytes, and their number.
    pub checksum: Option<(u32, u64)>,
    /// Unpacked bytes before the first value.
    pub header: u64,
}

impl Given {
    /// `None` if the number of values overflows.
    pub fn count(&self) -> Option<u64> {
        count(&self.shape)
    }

    /// Bytes of the unpacked values.
    pub fn bytes(&self) -> u64 {
        let Stored { bytes, checksum, header, .. } = self.stored;
        checksum.map_or(bytes, |(_, unpacked)| unpacked).saturating_sub(header)
    }

    pub fn read(&self, file: &Arc<File>) -> io::Result<Box<dyn Read>> {
        let mut bytes = self.stored.read(file);
        io::copy(&mut bytes.by_ref().take(self.stored.header), &mut io::sink())?;
        Ok(if self.of == Type::Bfloat16 { Box::new(Widened(bytes)) } else { bytes })
    }
}

fn count(shape: &[u64]) -> Option<u64> {
    shape.iter().try_fold(1u64, |count, dim| count.checked_mul(*dim))
}

impl Stored {
    pub fn read(&self, file: &Arc<File>) -> Box<dyn Read> {
        let part = PartOfFile { file: Arc::clone(file), at: self.at, left: self.bytes };
        let unpacked: Box<dyn Read> =
            if self.is_deflated { Box::new(DeflateDecoder::new(part)) } else { Box::new(part) };
        match self.checksum {
            Some((expected, left)) => Box::new(Checked { from: unpacked, hasher: Hasher::new(), expected, left }),
            None => unpacked,
        }
    }
}

/// A part of a file, which is read without moving the position of the file.
struct PartOfFile {
    file: Arc<File>,
    at: u64,
    left: u64,
}

impl Read for PartOfFile {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = into.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let read = self.file.read_at(&mut into[..most], self.at)?;
        self.at += read as u64;
        self.left -= read as u64;
        Ok(read)
    }
}

/// Compares the checksum when the last byte was read.
struct Checked {
    from: Box<dyn Read>,
    hasher: Hasher,
    expected: u32,
    left: u64,
}

impl Read for Checked {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = into.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let read = self.from.read(&mut into[..most])?;
        self.hasher.update(&into[..read]);
        self.left -= read as u64;
        if read > 0 && self.left == 0 && self.hasher.clone().finalize() != self.expected {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "its checksum is wrong: the file is damaged"));
        }
        Ok(read)
    }
}

/// Values of bfloat16 as floats, which is exact.
struct Widened(Box<dyn Read>);

impl Read for Widened {
    /// Fills whole floats: callers read whole values.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = into.len() / 4 * 4;
        let (halves, _) = into.split_at_mut(length / 2);
        self.0.read_exact(halves)?;
        // The order is from the last to the first: a float overwrites halves that were widened already.
        for number in (0..length / 4).rev() {
            let (low, high) = (into[2 * number], into[2 * number + 1]);
            into[4 * number..4 * number + 4].copy_from_slice(&[0, 0, low, high]);
        }
        Ok(length)
    }
}
