//! What can go wrong, as a kind for programs and a sentence for people.

use std::fmt;
use std::io;

/// What kind of error it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The file is damaged, cut off, or contradicts itself.
    Format,
    /// The file is sound, and holds something that is not read.
    Unsupported,
    /// The system could not open or read the file.
    Io,
    /// The caller asked for something that is not there, or lent a buffer of the wrong size.
    Argument,
}

/// An error: its sentence names the file, the layer, the blob, the offset, what is wrong and what to do.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    file: String,
    layer: Option<String>,
    blob: Option<usize>,
    what: String,
    offset: Option<u64>,
    advice: &'static str,
    cause: Option<io::Error>,
}

/// Names in sentences end here: a damaged file may have one of a million letters.
const LONGEST_NAME: usize = 80;

impl Error {
    pub(crate) fn new(kind: ErrorKind, file: &str, what: impl Into<String>, advice: &'static str) -> Self {
        let (file, what) = (file.to_string(), what.into());
        Self(Box::new(Inner { kind, file, layer: None, blob: None, what, offset: None, advice, cause: None }))
    }

    pub(crate) fn format(file: &str, what: impl Into<String>, advice: &'static str) -> Self {
        Self::new(ErrorKind::Format, file, what, advice)
    }

    pub(crate) fn at(mut self, offset: u64) -> Self {
        self.0.offset = Some(offset);
        self
    }

    pub(crate) fn because(mut self, cause: io::Error) -> Self {
        self.0.cause = Some(cause);
        self
    }

    /// Adds the blob's number.
    pub(crate) fn in_blob(mut self, index: usize) -> Self {
        self.0.blob.get_or_insert(index);
        self
    }

    /// Adds the layer's number, and its name if it is known.
    pub(crate) fn in_layer(mut self, index: usize, name: &str) -> Self {
        self.0.layer.get_or_insert_with(|| match name {
            "" => format!("layer {index}"),
            _ => format!("layer {index} \"{}\"", shortened(name).escape_debug()),
        });
        self
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Where in the file the error was found, in bytes, if it has a place.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }
}

pub(crate) fn shortened(name: &str) -> String {
    if name.chars().count() <= LONGEST_NAME {
        return name.to_string();
    }
    name.chars().take(LONGEST_NAME).chain(['…']).collect()
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let Inner { file, layer, blob, what, offset, advice, cause, .. } = &*self.0;
        write!(formatter, "{file}: ")?;
        match (layer, blob) {
            (Some(layer), Some(blob)) => write!(formatter, "{layer}, blob {blob}: ")?,
            (Some(layer), None) => write!(formatter, "{layer}: ")?,
            (None, Some(blob)) => write!(formatter, "blob {blob}: ")?,
            (None, None) => {}
        }
        formatter.write_str(what)?;
        if let Some(cause) = cause {
            write!(formatter, " ({cause})")?;
        }
        if let Some(offset) = offset {
            write!(formatter, ", at byte {offset}")?;
        }
        write!(formatter, "; {advice}")
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{:?}({self})", self.0.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.cause.as_ref().map(|cause| cause as _)
    }
}
