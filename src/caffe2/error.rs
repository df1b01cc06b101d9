//! Errors of this room: what is wrong and what to do.

use std::fmt;

use super::type_name::TypeName;
#[cfg(feature = "blob")]
use crate::models::Failure;

/// The reason why an operation failed. Tensors, blobs and workspaces are unchanged, apart from the contents of the target of a
/// copy.
#[derive(Debug)]
pub enum Error {
    /// An error of an object or of the host's memory.
    Own(crate::error::Error),
    /// An argument cannot be used: which one, why, what to pass instead.
    Argument(&'static str),
    /// The tensor, blob or workspace does not allow the call.
    State(&'static str),
    /// No tensor of this library does it.
    Unsupported(&'static str),
    /// Items or a value of one type were asked for as another.
    OtherType {
        /// What there is.
        holds: TypeName,
        /// What was asked for.
        asked: TypeName,
    },
    /// A function of a type returned false.
    Refused(&'static str, TypeName),
    /// Items have constructors and no function that copies them.
    NotCopied(TypeName),
    /// A file of weights cannot be opened or read.
    #[cfg(feature = "blob")]
    File(Failure),
}

impl Error {
    /// No memory for the library's own bookkeeping of so many bytes.
    pub fn no_room(asked: usize) -> Error {
        Error::Own(crate::error::Error::no_room(asked))
    }
}

impl From<crate::error::Error> for Error {
    fn from(error: crate::error::Error) -> Self {
        Error::Own(error)
    }
}

#[cfg(feature = "blob")]
impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Error::File(failure)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Own(error) => error.fmt(f),
            Error::Argument(words) | Error::State(words) | Error::Unsupported(words) => f.write_str(words),
            Error::OtherType { holds, asked } => {
                write!(
                    f,
                    "it holds {holds}, and {asked} was asked for; ask for the type that it holds, or for mutable data"
                )
            }
            Error::Refused(function, name) => {
                write!(f, "the function {function} of {name} returned false; it has the reason")
            }
            #[cfg(feature = "blob")]
            Error::File(failure) => failure.fmt(f),
            Error::NotCopied(name) => {
                write!(
                    f,
                    "items of {name} cannot be copied: the type has no function copy; give it one, or share the data"
                )
            }
        }
    }
}
