//! The reasons why a file that a setting names cannot be written, or why a trace ends early.

use std::ffi::c_int;
use std::fmt;

/// The reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The file's name is longer than the system takes.
    NameTooLong,
    /// The name is that of something else: a folder, a pipe.
    NotAFile,
    /// The file holds something other than a trace.
    NotATrace,
    /// Another program has locked the file.
    Locked,
    /// Another thread is starting or stopping a trace.
    Busy,
    /// The file has reached the process's limit (ulimit -f).
    Limit,
    /// The program closed the descriptor, or opened another file under its number.
    Closed,
    /// The system's reason, an errno.
    System(c_int),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Trouble::NameTooLong => "its name is too long",
            // A FIFO without a reader cannot be opened for writing.
            Trouble::NotAFile | Trouble::System(libc::ENXIO) => "it is not a regular file; name one",
            Trouble::NotATrace => {
                "there is something in it, and not a trace; name another file, or remove this one first"
            }
            Trouble::System(libc::ELOOP) => "it is a symbolic link, which is not followed; name the file itself",
            Trouble::Locked => "another program has it locked",
            Trouble::Busy => "another thread is starting or stopping a trace",
            Trouble::Limit | Trouble::System(libc::EFBIG) => "the process may make no longer file (ulimit -f)",
            Trouble::Closed => "the program closed its descriptor",
            Trouble::System(libc::ENOENT) => "there is no such folder",
            Trouble::System(libc::EACCES | libc::EPERM) => "permission denied",
            Trouble::System(libc::EISDIR) => "it is a folder",
            Trouble::System(libc::EROFS) => "the file system is read-only",
            Trouble::System(libc::ENOSPC) => "no space is left on the device",
            Trouble::System(libc::EDQUOT) => "the disk quota is used up",
            Trouble::System(libc::EMFILE | libc::ENFILE) => "there is no file descriptor left",
            Trouble::System(errno) => return write!(f, "the system refused (errno {errno})"),
        })
    }
}
