use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use crate::error::{Error, ErrorKind};
use crate::source::Source;
use syncedmem_core::new_file::NewFile;

/// Bytes of a block.
const BLOCK: usize = 256 << 10;

/// Bytes of the largest message that protobuf reads.
const MOST_BYTES: u64 = i32::MAX as u64;

/// A new file that is written from its beginning to its end.
pub(crate) struct Output<'o> {
    name: String,
    file: NewFile,
    block: Vec<u8>,
    progress: &'o mut dyn FnMut(u64),
}

impl<'o> Output<'o> {
    /// Begins a file of `length` bytes.
    pub fn new(path: &Path, length: u64, may_be_large: bool, progress: &'o mut dyn FnMut(u64)) -> Result<Self, Error> {
        let name = path.display().to_string();
        if length > MOST_BYTES && !may_be_large {
            let what = format!("would have {length} bytes, and Caffe reads at most {MOST_BYTES}");
            let advice = "allow large files if it is not for Caffe";
            return Err(Error::new(ErrorKind::Unsupported, &name, what, advice));
        }
        let mut block = Vec::new();
        block.try_reserve_exact(BLOCK).map_err(|_| failed(&name, io::ErrorKind::OutOfMemory.into()))?;
        block.resize(BLOCK, 0);
        let file = NewFile::new(path).map_err(|cause| failed(&name, cause))?;
        Ok(Self { name, file, block, progress })
    }

    /// Writes `length` bytes in blocks, each of whole `unit`s except the last. `fill` gets a block, and the number of bytes before it.
    pub fn write(
        &mut self,
        length: u64,
        unit: u64,
        mut fill: impl FnMut(&mut [u8], u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (mut done, most) = (0, BLOCK as u64 / unit * unit);
        while done < length {
            let block = &mut self.block[..(length - done).min(most) as usize];
            fill(block, done)?;
            self.file.write_all(block).map_err(|cause| failed(&self.name, cause))?;
            (self.progress)(block.len() as u64);
            done += block.len() as u64;
        }
        Ok(())
    }

    pub fn copy(&mut self, source: &Source, range: Range<u64>) -> Result<(), Error> {
        self.write(range.end - range.start, 1, |into, offset| source.read(into, range.start + offset))
    }

    pub fn publish(self) -> Result<(), Error> {
        self.file.publish().map_err(|cause| failed(&self.name, cause))
    }
}

fn failed(name: &str, cause: io::Error) -> Error {
    let advice = match cause.kind() {
        io::ErrorKind::FileTooLarge => {
            "raise the limit of a file's length (ulimit -f): one that was there is unchanged"
        }
        _ => "make room, or name another file: one that was there is unchanged",
    };
    Error::new(ErrorKind::Io, name, "cannot be written", advice).because(cause)
}
