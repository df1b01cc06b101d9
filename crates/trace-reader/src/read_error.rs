//! Reasons why a file cannot be read as a recording.

use std::fmt;
use std::io;

use syncedmem_trace::recording::header::NoHeader;

#[derive(Debug)]
pub enum ReadError {
    System(io::Error),
    Empty,
    Text,
    NoRecordings,
    /// Than these bytes, which its header gives it.
    TooLong(u64),
    /// Other bytes, or another format.
    Header(NoHeader),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> ReadError {
        ReadError::System(error)
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::System(error) => write!(f, "it cannot be read: {error}"),
            ReadError::Empty => {
                f.write_str("it is empty: its process has not used the library, or the disk was full; record again")
            }
            ReadError::Text => f.write_str(
                "it is an export and no recording; open it with the tool that it was exported for, or record again with syncedmem run \
                 --trace FILE",
            ),
            ReadError::NoRecordings => f.write_str("no recording is in this folder; name one that syncedmem run --trace wrote"),
            ReadError::TooLong(most) => {
                write!(f, "it goes on behind the {most} bytes that its header gives the recording: it is damaged; record again")
            }
            ReadError::Header(NoHeader::Foreign) => {
                f.write_str("it is no recording of libsyncedmem; name a file that syncedmem run --trace or SYNCEDMEM_TRACE wrote")
            }
            ReadError::Header(NoHeader::Other(version)) => {
                write!(f, "another version of libsyncedmem wrote it (format {version}); use the command that belongs to it, or record again")
            }
            ReadError::Header(NoHeader::Damaged) => f.write_str("its header is damaged, or not complete; record again"),
        }
    }
}

impl std::error::Error for ReadError {}
