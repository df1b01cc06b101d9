//! Errors of this room: the library's own, those of a file, and those of an argument.

use std::fmt;

use crate::blob;
use crate::error::Error;

/// Why a file or an array could not be read or written. The object that it was for is as `SyncedMemory::fill` says.
#[derive(Debug)]
pub enum Failure {
    /// An error of the library, such as no memory.
    Own(Error),
    /// An error of a blob, such as a shape that it cannot have.
    Blob(blob::error::Error),
    /// The file cannot be opened, read or written.
    File(String),
    /// The file is damaged, cut off, or another file.
    Format(String),
    /// The file is sound and has something that is not read, or the type asked for is not one that it can be read as.
    Unsupported(String),
    /// An argument cannot be used.
    Argument(String),
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
        let sentence = error.to_string();
        match error.kind() {
            caffemodel::ErrorKind::Format => Self::Format(sentence),
            caffemodel::ErrorKind::Unsupported => Self::Unsupported(sentence),
            caffemodel::ErrorKind::Io => Self::File(sentence),
            caffemodel::ErrorKind::Argument => Self::Argument(sentence),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(error) => error.fmt(f),
            Self::Blob(error) => error.fmt(f),
            Self::File(sentence) | Self::Format(sentence) | Self::Unsupported(sentence) | Self::Argument(sentence) => {
                f.write_str(sentence)
            }
        }
    }
}
