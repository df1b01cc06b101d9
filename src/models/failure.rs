//! Errors of this room: the library's own, and those of a file.

use std::fmt;
use std::path::Path;

use crate::blob;
use crate::error::Error;
use crate::platform::file_error::write_reason;

/// Why a file or an array could not be read or written. The object that it was for is as `SyncedMemory::fill` says.
#[derive(Debug)]
pub enum Failure {
    /// An error of the library, such as no memory.
    Own(Error),
    /// An error of a blob, such as a shape that it cannot have.
    Blob(blob::error::Error),
    /// An error of the file, or of an argument that it does not allow.
    File(caffemodel::Error),
}

impl Failure {
    /// The call does not read or write such a file.
    pub fn unsupported(path: &Path, what: fmt::Arguments, advice: &'static str) -> Self {
        caffemodel::Error::new(caffemodel::ErrorKind::Unsupported, path.display(), what, advice).into()
    }

    /// No memory for the library's own bookkeeping of so many bytes.
    pub fn no_room(asked: usize) -> Self {
        Self::Own(Error::no_room(asked))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Own(error)
    }
}

impl From<blob::error::Error> for Failure {
    fn from(error: blob::error::Error) -> Self {
        Self::Blob(error)
    }
}

impl From<caffemodel::Error> for Failure {
    fn from(error: caffemodel::Error) -> Self {
        match error.kind() {
            caffemodel::ErrorKind::OutOfMemory { asked } => Self::no_room(asked),
            _ => Self::File(error),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(error) => error.fmt(f),
            Self::Blob(error) => error.fmt(f),
            Self::File(error) => error.write(f, write_reason),
        }
    }
}
