//! Why a file cannot be written, or a trace ends early.
#![expect(unsafe_code, reason = "strerror_r(3)")]

use std::ffi::{CStr, c_int};
use std::fmt;
use std::io;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileError {
    NameTooLong,
    NotAFile,
    NotATrace,
    Exported,
    Locked,
    Busy,
    Limit,
    /// The program closed the descriptor, or opened another file under its number.
    Closed,
    System(c_int),
}

impl FileError {
    pub fn errno(self) -> c_int {
        match self {
            FileError::System(errno) => errno,
            FileError::Limit => libc::EFBIG,
            FileError::Closed => libc::EBADF,
            _ => libc::EIO,
        }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            FileError::NameTooLong => "its name is too long",
            // A FIFO without a reader cannot be opened for writing.
            FileError::NotAFile | FileError::System(libc::ENXIO) => "it is not a regular file; name one",
            FileError::NotATrace => {
                "there is something in it, and not a trace; name another file, or remove this one first"
            }
            FileError::Exported => {
                "a trace is no JSON; give the file another name, and export it with `syncedmem export`"
            }
            FileError::System(libc::ELOOP) => "it is a symbolic link, which is not followed; name the file itself",
            FileError::Locked => "another program has it locked",
            FileError::Busy => "another thread is starting or stopping a trace",
            FileError::Limit | FileError::System(libc::EFBIG) => "the process may make no longer file (ulimit -f)",
            FileError::Closed => "the program closed its descriptor",
            FileError::System(libc::ENOENT) => "there is no such folder",
            FileError::System(libc::EACCES | libc::EPERM) => "permission denied",
            FileError::System(libc::EISDIR) => "it is a folder",
            FileError::System(libc::EROFS) => "the file system is read-only",
            FileError::System(libc::ENOSPC) => "no space is left on the device",
            FileError::System(libc::EDQUOT) => "the disk quota is used up",
            FileError::System(libc::ENOMEM) => "there is no address space left (ulimit -v), of which it takes 3 MiB",
            FileError::System(libc::EMFILE | libc::ENFILE) => "there is no file descriptor left",
            FileError::System(errno) => return write!(f, "the system refused (errno {errno})"),
        })
    }
}

/// Writes without allocating: std makes a string of a system's error, and ends the process if there is no memory.
pub fn write_reason(error: &io::Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Some(errno) = error.raw_os_error() else { return fmt::Display::fmt(error, f) };
    let mut words = [0u8; 128];
    // SAFETY: `words` is writable for its length.
    unsafe { libc::strerror_r(errno, words.as_mut_ptr().cast(), words.len()) };
    let words = CStr::from_bytes_until_nul(&words).unwrap_or_default().to_str().unwrap_or_default();
    write!(f, "{words} (os error {errno})")
}
