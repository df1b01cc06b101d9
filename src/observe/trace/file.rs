//! The file of a trace, shared with other processes that trace to it.
//!
//! Each write appends (O_APPEND), so threads and processes need no order. A process that traces to the file holds a
//! shared lock (flock(2)) on it. A process that finds no other lock starts the file afresh; otherwise it appends.
#![expect(unsafe_code, reason = "flock(2), ftruncate(2) and pread(2)")]

use std::ffi::{CStr, c_int};

use syncedmem_trace::format::block::BLOCK;

use crate::platform::file::{self, close, result, status};
use crate::platform::file_error::FileError;
use crate::platform::sync::nap;

/// A file that is open for appending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    descriptor: c_int,
    /// Device and inode. A program that goes into the background closes every descriptor, and may open a file of its
    /// own under the same number.
    identity: (u64, u64),
    /// The most bytes that a file of this process may have (RLIMIT_FSIZE).
    limit: u64,
}

/// Bytes below the limit that are left to concurrent writers: one byte beyond the limit ends a process by SIGXFSZ.
const MARGIN: u64 = 16 << 10;

/// Attempts to get a lock that another process holds while it starts the file: about two seconds in all.
const TRIES: u32 = 20_000;

/// A file with an earlier trace. This process holds it exclusively until it starts the file afresh.
#[derive(Debug)]
pub struct Earlier(File);

impl Earlier {
    /// Empties the file and writes `opening`.
    pub fn replace(self, opening: &[u8]) -> Result<File, FileError> {
        let Earlier(file) = self;
        let begun = file.begin(opening).and_then(|()| file.share());
        if begun.is_err() {
            close(file.descriptor);
        }
        begun.map(|()| file)
    }
}

/// The state of a file that was opened for a trace.
#[derive(Debug)]
pub enum Opened {
    /// Open for appending: it holds this process's trace, or that of several processes.
    Ready(File),
    /// It holds a trace that has ended.
    Earlier(Earlier),
}

impl File {
    /// Opens or creates a file for a trace that begins with `opening`. An empty file gets it at once. A file with
    /// anything but a trace in it is an error.
    pub fn open(path: &CStr, opening: &[u8]) -> Result<Opened, FileError> {
        // Read access too: the contents are checked.
        let (descriptor, status) = file::open(path, libc::O_RDWR)?;
        let file = File { descriptor, identity: (status.st_dev, status.st_ino), limit: file::limit() };
        let opened = file.find_out(opening);
        if opened.is_err() {
            close(descriptor);
        }
        opened
    }

    fn find_out(self, opening: &[u8]) -> Result<Opened, FileError> {
        match self.lock(libc::LOCK_EX) {
            Ok(true) if self.is_empty()? => {
                self.begin(opening)?;
                self.share()?;
            }
            Ok(true) if self.begins_with(opening)? => return Ok(Opened::Earlier(Earlier(self))),
            Ok(true) => return Err(FileError::NotATrace),
            // Another process traces to it, or is starting it.
            Ok(false) => self.share()?,
            // This file system has no locks. A trace in the file may be another process's, so append to it.
            Err(_) if self.is_empty()? => self.write(opening)?,
            Err(_) => {}
        }
        if self.is_empty()? || self.begins_with(opening)? { Ok(Opened::Ready(self)) } else { Err(FileError::NotATrace) }
    }

    /// Whether it is empty. A device always is.
    fn is_empty(&self) -> Result<bool, FileError> {
        Ok(status(self.descriptor)?.st_size == 0)
    }

    fn begins_with(&self, opening: &[u8]) -> Result<bool, FileError> {
        let mut begins = [0u8; BLOCK];
        let length = opening.len().min(BLOCK);
        let (first, from) = (begins.as_mut_ptr(), 0 as libc::off_t);
        // SAFETY: `begins` has room for `length` bytes.
        let read = result(unsafe { libc::syscall(libc::SYS_pread64, self.descriptor, first, length, from) })?;
        Ok(begins[..read as usize] == *opening)
    }

    fn begin(&self, opening: &[u8]) -> Result<(), FileError> {
        self.empty()?;
        self.write(opening)
    }

    /// Takes the shared lock, so that other processes append. Waits while another process holds the exclusive one to
    /// start the file.
    fn share(&self) -> Result<(), FileError> {
        for _ in 0..TRIES {
            if self.lock(libc::LOCK_SH)? {
                return Ok(());
            }
            nap();
        }
        Err(FileError::Locked)
    }

    /// Tries to take the lock; `false` if another process holds it.
    fn lock(&self, kind: c_int) -> Result<bool, FileError> {
        // SAFETY: flock has no preconditions.
        match result(unsafe { libc::syscall(libc::SYS_flock, self.descriptor, kind | libc::LOCK_NB) }) {
            Ok(_) => Ok(true),
            Err(FileError::System(libc::EWOULDBLOCK)) => Ok(false),
            Err(FileError::System(libc::EINTR)) => self.lock(kind),
            Err(trouble) => Err(trouble),
        }
    }

    fn empty(&self) -> Result<(), FileError> {
        // SAFETY: ftruncate has no preconditions.
        match result(unsafe { libc::syscall(libc::SYS_ftruncate, self.descriptor, 0 as libc::off_t) }) {
            // A device cannot be truncated.
            Ok(_) | Err(FileError::System(libc::EINVAL)) => Ok(()),
            Err(trouble) => Err(trouble),
        }
    }

    /// Appends all bytes.
    pub fn write(&self, bytes: &[u8]) -> Result<(), FileError> {
        let status = status(self.descriptor).map_err(|_| FileError::Closed)?;
        if (status.st_dev, status.st_ino) != self.identity {
            return Err(FileError::Closed);
        }
        if (status.st_size as u64).saturating_add(bytes.len() as u64 + MARGIN) > self.limit {
            return Err(FileError::Limit);
        }
        file::write_all(self.descriptor, bytes)
    }

    /// Closes the file, unless its descriptor number now belongs to another one.
    pub fn close(self) {
        if status(self.descriptor).is_ok_and(|status| (status.st_dev, status.st_ino) == self.identity) {
            close(self.descriptor);
        }
    }
}

impl File {
    /// Its parts, for storage in atomics.
    pub fn parts(self) -> [u64; 4] {
        [self.descriptor as u64, self.identity.0, self.identity.1, self.limit]
    }

    /// Builds it from its parts.
    pub fn of_parts([descriptor, device, inode, limit]: [u64; 4]) -> File {
        File { descriptor: descriptor as c_int, identity: (device, inode), limit }
    }
}
