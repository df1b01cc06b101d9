use std::fmt;

use super::type_name::TypeName;
#[cfg(feature = "blob")]
use crate::models::Failure;

/// Why an operation failed. Nothing has changed, except the contents of a copy's target.
#[derive(Debug)]
pub enum Error {
    Own(crate::error::Error),
    Argument(&'static str),
    State(&'static str),
    Unsupported(&'static str),
    OtherType {
        holds: TypeName,
        asked: TypeName,
    },
    /// A function of a type returned false.
    Refused(&'static str, TypeName),
    NotCopied(TypeName),
    #[cfg(feature = "blob")]
    File(Failure),
}

impl Error {
    /// `asked` is in bytes.
    pub fn out_of_memory(asked: usize) -> Error {
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
