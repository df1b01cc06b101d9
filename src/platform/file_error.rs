//! Why a file that a setting names cannot be written, or a trace ends early.

use std::ffi::c_int;
use std::fmt;

/// What stood in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The name of the file is longer than the system takes.
    NameTooLong,
    /// There is something else of that name: a folder, a pipe.
    NotAFile,
    /// There is something in the file, and it is no trace.
    NotATrace,
    /// Another program has the file to itself.
    Locked,
    /// Another thread is starting or stopping a trace.
    Busy,
    /// The file is as long as the process may make one.
    Limit,
    /// The program closed the descriptor, or has it lead somewhere else.
    Closed,
    /// The system's reason, as errno has it.
    System(c_int),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Trouble::NameTooLong => "its name is too long",
            // A FIFO without a reader cannot even be opened for writing alone.
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
