use std::fmt;
use std::path::Path;

use crate::blob;
use crate::error::Error;
use crate::platform::file_error::write_reason;

/// Why a call on a model file failed. `SyncedMemory::fill` says what an object then holds.
#[derive(Debug)]
pub enum Failure {
    Own(Error),
    Blob(blob::error::Error),
    /// An error of the file, or an argument that does not fit it.
    File(caffemodel::Error),
}

impl Failure {
    pub fn unsupported(path: &Path, what: fmt::Arguments, advice: &'static str) -> Self {
        caffemodel::Error::new(caffemodel::ErrorKind::Unsupported, path.display(), what, advice).into()
    }

    /// `asked` is in bytes.
    pub fn out_of_memory(asked: usize) -> Self {
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
            caffemodel::ErrorKind::OutOfMemory { asked } => Self::out_of_memory(asked),
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
