//! Reasons why a file cannot be read as a trace.

use std::fmt;
use std::io;

#[derive(Debug)]
pub enum ReadError {
    /// The system's error.
    System(io::Error),
    /// An empty file.
    Empty,
    /// A trace in RMM's form.
    Csv,
    /// The number of a line that is no record, and the reason.
    Line(u64, &'static str),
    /// The number of records, none of them this library's.
    NotOurs(u64),
    /// The version of a format that a newer library writes.
    Newer(u64),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::System(error) => write!(f, "it cannot be read: {error}"),
            ReadError::Empty => f.write_str("it is empty: the program that was to write it has not used the library"),
            ReadError::Csv => f.write_str(
                "these are the rows of a .csv trace, which know of allocations alone; \
                 trace to a file whose name does not end in .csv",
            ),
            ReadError::Line(line, what) => write!(f, "line {line}: {what}; this is not what SYNCEDMEM_TRACE writes"),
            ReadError::NotOurs(records) => {
                write!(f, "a trace with {records} records of other tools, and none of libsyncedmem")
            }
            ReadError::Newer(format) => {
                write!(f, "it was written by a newer libsyncedmem (form {format}); use the command that belongs to it")
            }
        }
    }
}

impl std::error::Error for ReadError {}
