//! The kind of a file. Protobuf does not name the message in it, so the numbers and types of its first fields decide.

use std::path::Path;

use crate::blob;
use crate::error::{Error, ErrorKind};
use crate::init_net;
use crate::source::Source;
use crate::wire::{Scanner, Wire};

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A net: `.caffemodel`.
    Net,
    /// One blob: `.binaryproto`, such as a mean image.
    Blob,
    /// A list of blobs: `.binaryproto`.
    Blobs,
    /// The state of a solver: `.solverstate`.
    SolverState,
    /// Weights as Caffe2 saves them: `init_net.pb`.
    InitNet,
}

impl Kind {
    /// The kind that a file's name says. A `.binaryproto` may be one blob or several.
    pub(crate) fn of_name(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "caffemodel" => Some(Self::Net),
            "solverstate" => Some(Self::SolverState),
            _ => None,
        }
    }

    /// The kind that the fields say. Fields that several messages share do not decide.
    pub(crate) fn of_fields(source: &Source) -> Result<Self, Error> {
        let mut scanner = Scanner::new(source);
        let end = source.length();
        // Field 1 is a number in a solver state or a blob, else the net's name or the first of several blobs.
        let (mut has_number, mut is_net) = (false, false);
        let mut first = None;
        while let Some(field) = scanner.field(end)? {
            match (field.number, field.wire) {
                (number, _) if is_net && number != 2 => {}
                (1, Wire::Bytes) => {
                    let range = scanner.bytes(end)?;
                    if first.replace(range).is_some() {
                        return Ok(Self::Blobs);
                    }
                    continue;
                }
                (1, Wire::Varint) => has_number = true,
                (2, Wire::Bytes) if !has_number => {
                    // The scan of a net reports damage, with its layer.
                    let Some(range) = sound(scanner.bytes(end))? else { return Ok(Self::Net) };
                    match sound(init_net::is_operator(&mut scanner, &range))?.unwrap_or(Some(false)) {
                        Some(true) => return Ok(Self::InitNet),
                        Some(false) => return Ok(Self::Net),
                        None => (scanner.position, is_net) = (range.end, true),
                    }
                    continue;
                }
                (2 | 3, Wire::Bytes) => return Ok(if has_number { Self::SolverState } else { Self::Net }),
                (100, Wire::Bytes) => return Ok(Self::Net),
                (2 | 3, Wire::Varint) | (5..=7, Wire::Bytes) | (5 | 6, Wire::Fixed32) => return Ok(Self::Blob),
                (8 | 9, Wire::Bytes | Wire::Fixed64) | (12, Wire::Bytes) if first.is_none() => return Ok(Self::Blob),
                _ => {}
            }
            scanner.skip(field, end)?;
        }
        if is_net {
            return Ok(Self::Net);
        }
        match first {
            // A name is no message, or a message without values.
            Some(range) => match sound(blob::scan(&mut scanner, range))? {
                Some(blob) if blob.data().count() > 0 => Ok(Self::Blobs),
                _ => Ok(Self::Net),
            },
            None if has_number => Ok(Self::SolverState),
            None => {
                let what = "has no field of a net, a blob or a solver state";
                Err(Error::format(source.name(), what, "name a .caffemodel, .binaryproto or .solverstate"))
            }
        }
    }
}

/// `None` if the file is damaged at that place.
fn sound<T>(found: Result<T, Error>) -> Result<Option<T>, Error> {
    match found {
        Err(error) if matches!(error.kind(), ErrorKind::Format | ErrorKind::Unsupported) => Ok(None),
        found => found.map(Some),
    }
}
