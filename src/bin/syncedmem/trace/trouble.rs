//! Why a file cannot be read as a trace.

use std::fmt;
use std::io;

/// What is wrong, and what to do.
#[derive(Debug)]
pub enum Trouble {
    /// The system could not read it.
    System(io::Error),
    /// There is nothing in it.
    Empty,
    /// It is the other form of trace.
    Csv,
    /// A line that is no record, and why.
    Line(u64, &'static str),
    /// So many records, and none of this library.
    NotOurs(u64),
    /// It has a form that a newer version writes.
    Newer(u64),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::System(error) => write!(f, "it cannot be read: {error}"),
            Trouble::Empty => f.write_str("it is empty: the program that was to write it has not used the library"),
            Trouble::Csv => f.write_str(
                "these are the rows of a .csv trace, which know of allocations alone; \
                 trace to a file whose name does not end in .csv",
            ),
            Trouble::Line(line, what) => write!(f, "line {line}: {what}; this is not what SYNCEDMEM_TRACE writes"),
            Trouble::NotOurs(records) => {
                write!(f, "a trace with {records} records of other tools, and none of libsyncedmem")
            }
            Trouble::Newer(format) => {
                write!(f, "it was written by a newer libsyncedmem (form {format}); use the command that belongs to it")
            }
        }
    }
}

impl std::error::Error for Trouble {}
