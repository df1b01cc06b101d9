//! Errors, and their sentences.

use std::fmt::{self, Display, Write};
use std::io;

use crate::allocate::{self, NoMemory};

/// The kind of an error, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The file is damaged, cut off, or contradicts itself.
    Format,
    /// The file is sound, but contains something that this crate does not read.
    Unsupported,
    /// The system could not open or read the file.
    Io,
    /// The caller asked for something that is not there, or passed a buffer of a wrong size.
    Argument,
    /// Memory ran out.
    OutOfMemory {
        /// Bytes asked for.
        asked: usize,
    },
}

/// Why a call failed. The sentence names the file, the layer, the blob, the offset, what is wrong and what to do.
pub struct Error {
    /// `None` if memory ran out.
    inner: Option<Box<[Inner; 1]>>,
    /// Bytes that were asked for, if memory ran out.
    asked: usize,
}

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

/// Sentences cut names after so many letters, because damaged files may have very long ones.
const LONGEST_NAME: usize = 80;

impl From<NoMemory> for Error {
    fn from(NoMemory(asked): NoMemory) -> Self {
        Self { inner: None, asked }
    }
}

impl Error {
    /// An error; `OutOfMemory` if there is no memory for its description.
    pub fn new(kind: ErrorKind, file: impl Display, what: impl Display, advice: &'static str) -> Self {
        Self::described(kind, &file, &what, advice).unwrap_or_else(Self::from)
    }

    fn described(
        kind: ErrorKind,
        file: &dyn Display,
        what: &dyn Display,
        advice: &'static str,
    ) -> Result<Self, NoMemory> {
        let (file, what) = (allocate::text(file)?, allocate::text(what)?);
        let inner = Inner { kind, file, layer: None, blob: None, what, offset: None, advice, cause: None };
        Ok(Self { inner: Some(allocate::boxed(inner)?), asked: 0 })
    }

    fn inner(&self) -> Option<&Inner> {
        self.inner.as_deref()?.first()
    }

    fn with(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        if let Some([inner]) = self.inner.as_deref_mut() {
            change(inner);
        }
        self
    }

    pub(crate) fn format(file: &str, what: impl Display, advice: &'static str) -> Self {
        Self::new(ErrorKind::Format, file, what, advice)
    }

    pub(crate) fn at(self, offset: u64) -> Self {
        self.with(|inner| inner.offset = Some(offset))
    }

    pub(crate) fn because(self, cause: io::Error) -> Self {
        self.with(|inner| inner.cause = Some(cause))
    }

    pub(crate) fn in_blob(self, index: usize) -> Self {
        self.with(|inner| _ = inner.blob.get_or_insert(index))
    }

    /// Adds the layer, unless there is one. `name` may be empty.
    pub(crate) fn in_layer(self, index: usize, name: &str) -> Self {
        if self.inner().is_none_or(|inner| inner.layer.is_some()) {
            return self;
        }
        match allocate::text(&LayerName { index, name }) {
            Ok(place) => self.with(|inner| inner.layer = Some(place)),
            Err(no_memory) => no_memory.into(),
        }
    }

    /// The kind, for programs.
    pub fn kind(&self) -> ErrorKind {
        self.inner().map_or(ErrorKind::OutOfMemory { asked: self.asked }, |inner| inner.kind)
    }

    /// Writes the sentence, with the system's error written by `reason`: std's `Display` of an error allocates, and ends the process
    /// if it cannot.
    ///
    /// # Errors
    /// Those of the formatter.
    pub fn write(
        &self,
        formatter: &mut fmt::Formatter,
        reason: impl Fn(&io::Error, &mut fmt::Formatter) -> fmt::Result,
    ) -> fmt::Result {
        let Some(Inner { file, layer, blob, what, offset, advice, cause, .. }) = self.inner() else {
            let asked = self.asked;
            return write!(
                formatter,
                "{asked} bytes for a file's structure were refused: memory ran out; free some of it"
            );
        };
        write!(formatter, "{file}: ")?;
        if let Some(layer) = layer {
            write!(formatter, "{layer}{}", if blob.is_some() { ", " } else { ": " })?;
        }
        if let Some(blob) = blob {
            write!(formatter, "blob {blob}: ")?;
        }
        formatter.write_str(what)?;
        if let Some(cause) = cause {
            formatter.write_str(" (")?;
            reason(cause, formatter)?;
            formatter.write_str(")")?;
        }
        if let Some(offset) = offset {
            write!(formatter, ", at byte {offset}")?;
        }
        write!(formatter, "; {advice}")
    }
}

struct LayerName<'n> {
    index: usize,
    name: &'n str,
}

impl Display for LayerName<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let Self { index, name } = self;
        write!(formatter, "layer {index}")?;
        if name.is_empty() {
            return Ok(());
        }
        let end = name.char_indices().nth(LONGEST_NAME).map_or(name.len(), |(at, _)| at);
        let more = if end < name.len() { "…" } else { "" };
        formatter.write_str(" \"")?;
        // `escape_debug` would need tables larger than this file's code.
        name[..end].chars().try_for_each(|letter| match letter {
            letter if letter.is_control() || matches!(letter, '"' | '\\') => {
                write!(formatter, "{}", letter.escape_default())
            }
            letter => formatter.write_char(letter),
        })?;
        write!(formatter, "{more}\"")
    }
}

impl Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        self.write(formatter, Display::fmt)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{:?}({self})", self.kind())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.inner()?.cause.as_ref().map(|cause| cause as _)
    }
}
