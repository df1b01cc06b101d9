//! The file that a trace goes to, shared with other processes that trace to it.
//!
//! Each write appends (O_APPEND), so that threads and processes need no order among themselves. A shared lock of flock(2)
//! says that somebody is tracing there. Who finds nobody begins the file anew, and who finds somebody adds to it.
#![expect(unsafe_code, reason = "open(2), flock(2), fstat(2), write(2)")]

use std::ffi::{CStr, c_int};
use std::mem::MaybeUninit;

use crate::error::no_trace::Trouble;
use crate::sync::nap;

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

/// How often is asked again for a lock that another process has while it begins the file.
const TRIES: u32 = 2000;

impl File {
    /// Opens or makes a file. One that nobody traces to is begun anew, with `opening`.
    pub fn open(path: &CStr, opening: &[u8]) -> Result<File, Trouble> {
        // A pipe without a reader must not stop the program: such an open fails, and one with a reader is found below.
        let flags =
            libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY;
        // By `syscall`, since `open` and `write` are cancellation points: see `text::to_stderr`.
        // SAFETY: the path is NUL-terminated.
        let opened = unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, 0o666 as c_int) };
        let descriptor = above_standard(result(opened)? as c_int)?;
        let begun = File::begin(descriptor, opening);
        if begun.is_err() {
            close(descriptor);
        }
        begun
    }

    fn begin(descriptor: c_int, opening: &[u8]) -> Result<File, Trouble> {
        let status = status(descriptor)?;
        // Of the devices /dev/null and /dev/full make sense.
        if !matches!(status.st_mode & libc::S_IFMT, libc::S_IFREG | libc::S_IFCHR) {
            return Err(Trouble::NotAFile);
        }
        let file = File { descriptor, identity: (status.st_dev, status.st_ino), limit: limit() };
        match file.lock(libc::LOCK_EX) {
            Ok(true) => {
                file.empty()?;
                file.write(opening)?;
            }
            Ok(false) => {}
            // There are no locks here: what is in the file may be another's.
            Err(_) if status.st_size > 0 => return Ok(file),
            Err(_) => {
                file.write(opening)?;
                return Ok(file);
            }
        }
        for _ in 0..TRIES {
            if file.lock(libc::LOCK_SH)? {
                return Ok(file);
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
        let mut rest = bytes;
        while !rest.is_empty() {
            // SAFETY: `rest` is a live slice; the kernel only reads it.
            let written = unsafe { libc::syscall(libc::SYS_write, self.descriptor, rest.as_ptr(), rest.len()) };
            match result(written) {
                Ok(0) => return Err(Trouble::System(libc::ENOSPC)),
                Ok(count) => rest = rest.get(count as usize..).unwrap_or_default(),
                Err(Trouble::System(libc::EINTR)) => {}
                Err(trouble) => return Err(trouble),
            }
        }
        Ok(())
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

/// The same file under a number that is none of standard input, output and error: what a program that has closed one of
/// them prints is not for the trace.
fn above_standard(descriptor: c_int) -> Result<c_int, Trouble> {
    if descriptor > libc::STDERR_FILENO {
        return Ok(descriptor);
    }
    let above = libc::STDERR_FILENO + 1;
    // SAFETY: it takes plain numbers.
    let moved = result(unsafe { libc::syscall(libc::SYS_fcntl, descriptor, libc::F_DUPFD_CLOEXEC, above) });
    close(descriptor);
    Ok(moved? as c_int)
}

fn close(descriptor: c_int) {
    // SAFETY: the descriptor is ours, says the caller, and not used again.
    unsafe { libc::syscall(libc::SYS_close, descriptor) };
}

fn status(descriptor: c_int) -> Result<libc::stat, Trouble> {
    let mut status = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: it is writable.
    let failed = unsafe { libc::fstat(descriptor, status.as_mut_ptr()) };
    result(failed.into())?;
    // SAFETY: fstat has written it.
    Ok(unsafe { status.assume_init() })
}

/// The longest that a file of this process may be.
fn limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: it is writable.
    unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) };
    limit.rlim_cur
}

fn result(returned: libc::c_long) -> Result<libc::c_long, Trouble> {
    if returned >= 0 {
        return Ok(returned);
    }
    // SAFETY: errno is the calling thread's own.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: likewise.
    Err(Trouble::System(unsafe { *errno }))
}
