//! The file that a trace goes to, shared with other processes that trace to it.
//!
//! Each write appends (O_APPEND), so that threads and processes need no order among themselves. A shared lock of flock(2)
//! says that a process traces there. A process that finds no other begins the file anew; one that finds another adds to it.
#![expect(unsafe_code, reason = "flock(2), ftruncate(2) and pread(2)")]

use std::ffi::{CStr, c_int};

use super::block::BLOCK;
use crate::platform::file::{self, close, result, status};
use crate::platform::file_error::Trouble;
use crate::platform::sync::nap;

/// A file that is open for appending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    descriptor: c_int,
    /// Which file it is. Programs that go into the background close every descriptor, and get the same number again for a
    /// file of their own.
    identity: (u64, u64),
    /// No file of this process may be longer.
    limit: u64,
}

/// What is left to those that write at the same time, below the limit: one byte beyond it ends a process by SIGXFSZ.
const MARGIN: u64 = 16 << 10;

/// How often a lock is asked for again that another process has while it begins the file: for some two seconds in all.
const TRIES: u32 = 20_000;

/// A file with an earlier trace in it, which this process has to itself until it begins it anew.
#[derive(Debug)]
pub struct Earlier(File);

impl Earlier {
    /// Begins the file anew, with `opening`.
    pub fn replace(self, opening: &[u8]) -> Result<File, Trouble> {
        let Earlier(file) = self;
        let begun = file.begin(opening).and_then(|()| file.share());
        if begun.is_err() {
            close(file.descriptor);
        }
        begun.map(|()| file)
    }
}

/// What is in a file that was opened for a trace.
#[derive(Debug)]
pub enum Opened {
    /// The trace of this process, or of several at once: it is open for what they add.
    Ready(File),
    /// A trace that has ended.
    Earlier(Earlier),
}

impl File {
    /// Opens or makes a file for a trace that begins with `opening`. An empty one is begun at once. One with something else
    /// in it than a trace is refused.
    pub fn open(path: &CStr, opening: &[u8]) -> Result<Opened, Trouble> {
        // What is in it has to be read.
        let (descriptor, status) = file::open(path, libc::O_RDWR)?;
        let file = File { descriptor, identity: (status.st_dev, status.st_ino), limit: file::limit() };
        let opened = file.find_out(opening);
        if opened.is_err() {
            close(descriptor);
        }
        opened
    }

    fn find_out(self, opening: &[u8]) -> Result<Opened, Trouble> {
        match self.lock(libc::LOCK_EX) {
            Ok(true) if self.is_empty()? => {
                self.begin(opening)?;
                self.share()?;
            }
            Ok(true) if self.begins_with(opening)? => return Ok(Opened::Earlier(Earlier(self))),
            Ok(true) => return Err(Trouble::NotATrace),
            // Another process traces to it, or is about to begin it.
            Ok(false) => self.share()?,
            // There are no locks here: a trace that is in the file may be another's, and goes on.
            Err(_) if self.is_empty()? => self.write(opening)?,
            Err(_) => {}
        }
        if self.is_empty()? || self.begins_with(opening)? { Ok(Opened::Ready(self)) } else { Err(Trouble::NotATrace) }
    }

    /// Whether nothing is in it. A device is always empty.
    fn is_empty(&self) -> Result<bool, Trouble> {
        Ok(status(self.descriptor)?.st_size == 0)
    }

    fn begins_with(&self, opening: &[u8]) -> Result<bool, Trouble> {
        let mut begins = [0u8; BLOCK];
        let length = opening.len().min(BLOCK);
        let (first, from) = (begins.as_mut_ptr(), 0 as libc::off_t);
        // SAFETY: no more is read than there is room for.
        let read = result(unsafe { libc::syscall(libc::SYS_pread64, self.descriptor, first, length, from) })?;
        Ok(begins[..read as usize] == *opening)
    }

    fn begin(&self, opening: &[u8]) -> Result<(), Trouble> {
        self.empty()?;
        self.write(opening)
    }

    /// Says that this process traces to it, so that others add to it. Another one may have it to itself for as long as it takes
    /// to begin it.
    fn share(&self) -> Result<(), Trouble> {
        for _ in 0..TRIES {
            if self.lock(libc::LOCK_SH)? {
                return Ok(());
            }
            nap();
        }
        Err(Trouble::Locked)
    }

    /// Whether the lock was to be had.
    fn lock(&self, kind: c_int) -> Result<bool, Trouble> {
        // SAFETY: flock has no preconditions.
        match result(unsafe { libc::syscall(libc::SYS_flock, self.descriptor, kind | libc::LOCK_NB) }) {
            Ok(_) => Ok(true),
            Err(Trouble::System(libc::EWOULDBLOCK)) => Ok(false),
            Err(Trouble::System(libc::EINTR)) => self.lock(kind),
            Err(trouble) => Err(trouble),
        }
    }

    fn empty(&self) -> Result<(), Trouble> {
        // SAFETY: ftruncate has no preconditions.
        match result(unsafe { libc::syscall(libc::SYS_ftruncate, self.descriptor, 0 as libc::off_t) }) {
            // A device has no length.
            Ok(_) | Err(Trouble::System(libc::EINVAL)) => Ok(()),
            Err(trouble) => Err(trouble),
        }
    }

    /// Appends all of it.
    pub fn write(&self, bytes: &[u8]) -> Result<(), Trouble> {
        let status = status(self.descriptor).map_err(|_| Trouble::Closed)?;
        if (status.st_dev, status.st_ino) != self.identity {
            return Err(Trouble::Closed);
        }
        if (status.st_size as u64).saturating_add(bytes.len() as u64 + MARGIN) > self.limit {
            return Err(Trouble::Limit);
        }
        file::write_all(self.descriptor, bytes)
    }

    /// Closes it, unless its number has become another file's.
    pub fn close(self) {
        if status(self.descriptor).is_ok_and(|status| (status.st_dev, status.st_ino) == self.identity) {
            close(self.descriptor);
        }
    }
}

impl File {
    /// Its parts, as which it is kept.
    pub fn parts(self) -> [u64; 4] {
        [self.descriptor as u64, self.identity.0, self.identity.1, self.limit]
    }

    /// Puts it together again.
    pub fn of_parts([descriptor, device, inode, limit]: [u64; 4]) -> File {
        File { descriptor: descriptor as c_int, identity: (device, inode), limit }
    }
}
