//! The bytes of a file, which any thread may read at any offset.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::SystemTime;

use crate::allocate;
use crate::error::{Error, ErrorKind};

/// Opens a regular file for reading, and returns it with its size in bytes. `None` if it is no regular file.
///
/// The type of the open file is checked, because another program may have put a pipe in its place. Opening a pipe does not wait
/// (`O_NONBLOCK`), and child processes do not inherit the file (std sets `O_CLOEXEC`).
///
/// # Errors
/// Those of the system.
pub fn open_regular(path: &Path) -> io::Result<Option<(File, u64)>> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    let about = file.metadata()?;
    Ok(about.is_file().then_some((file, about.len())))
}

#[derive(Debug)]
enum Bytes {
    File(File),
    Memory(Vec<u8>),
}

/// A file, or its contents in memory.
#[derive(Debug)]
pub(crate) struct Source {
    bytes: Bytes,
    length: u64,
    /// Time of the last write. `None` if the contents are in memory, or if the file system has no such time.
    written: Option<SystemTime>,
    name: String,
}

impl Source {
    #[inline(never)]
    pub fn open(path: &Path) -> Result<Self, Error> {
        let name = allocate::text(&path.display())?;
        let io = |cause| {
            Error::new(ErrorKind::Io, &name, "cannot be opened", "check the path and the file's permissions")
                .because(cause)
        };
        let Some((file, length)) = open_regular(path).map_err(io)? else {
            let advice = "name a regular file: values are read from any place in it";
            return Err(Error::new(ErrorKind::Io, &name, "is a folder, a pipe or a device", advice));
        };
        Ok(Self { written: written(&file), bytes: Bytes::File(file), length, name })
    }

    pub fn of(bytes: Vec<u8>, name: &str) -> Result<Self, Error> {
        let (name, length) = (allocate::text(&name)?, bytes.len() as u64);
        Ok(Self { bytes: Bytes::Memory(bytes), length, written: None, name })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn length(&self) -> u64 {
        self.length
    }

    /// Whether another program has written to the file since it was opened.
    pub fn was_changed(&self) -> bool {
        matches!(&self.bytes, Bytes::File(file) if written(file) != self.written)
    }

    /// Fills `into` from `offset` on, which is at most the length.
    pub fn read(&self, into: &mut [u8], offset: u64) -> Result<(), Error> {
        let read = match &self.bytes {
            Bytes::File(file) => file.read_exact_at(into, offset),
            Bytes::Memory(bytes) => {
                let from = usize::try_from(offset).ok().and_then(|from| bytes.get(from..)?.get(..into.len()));
                from.map(|from| into.copy_from_slice(from)).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
            }
        };
        read.map_err(|cause| {
            let advice = match cause.kind() {
                io::ErrorKind::UnexpectedEof => "another program has cut the file since it was opened: open it again",
                _ => "the disk or the network may be at fault: try again, or copy the file",
            };
            let length = into.len();
            Error::new(ErrorKind::Io, &self.name, format_args!("{length} bytes could not be read"), advice)
                .at(offset)
                .because(cause)
        })
    }
}

fn written(file: &File) -> Option<SystemTime> {
    file.metadata().and_then(|about| about.modified()).ok()
}
