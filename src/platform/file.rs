//! Files that a setting names, and standard error. No function allocates.
//!
//! Calls are made by `syscall`, because open(2), write(2) and their like are cancellation points: a cancelled thread would
//! unwind through the guard against panics, which ends the process.
#![expect(
    unsafe_code,
    reason = "open(2), fstat(2), write(2) and signals, without std's allocations, locks and buffers"
)]

use std::ffi::{CStr, c_int, c_long};
use std::mem::MaybeUninit;
use std::ptr::null;

use super::file_error::FileError;
use super::{limits, thread};

/// Opens a regular file or a character device. A new one has the mode 0666 less the umask.
pub fn open(path: &CStr, access: c_int) -> Result<(c_int, libc::stat), FileError> {
    // A FIFO without a reader must not block the program. In a folder that others can write to, a link could point to any
    // file of the user.
    const ALWAYS: c_int = libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_NOFOLLOW;
    let (flags, mode) = (access | ALWAYS, 0o666 as c_int);
    // SAFETY: the path is NUL-terminated.
    let opened = unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, mode) };
    let descriptor = above_standard(result(opened)? as c_int)?;
    let checked = status(descriptor).and_then(|status| match status.st_mode & libc::S_IFMT {
        libc::S_IFREG => Ok((descriptor, status)),
        // The flags lose O_NONBLOCK: writes to /dev/null, /dev/full or a terminal may block.
        libc::S_IFCHR => {
            // SAFETY: fcntl takes plain numbers here.
            result(unsafe { libc::syscall(libc::SYS_fcntl, descriptor, libc::F_SETFL, libc::O_APPEND) })?;
            Ok((descriptor, status))
        }
        _ => Err(FileError::NotAFile),
    });
    if checked.is_err() {
        close(descriptor);
    }
    checked
}

/// Moves a descriptor above standard error: a program that has closed standard output may still print to its number.
fn above_standard(descriptor: c_int) -> Result<c_int, FileError> {
    if descriptor > libc::STDERR_FILENO {
        return Ok(descriptor);
    }
    let above = libc::STDERR_FILENO + 1;
    // SAFETY: fcntl takes plain numbers here.
    let moved = result(unsafe { libc::syscall(libc::SYS_fcntl, descriptor, libc::F_DUPFD_CLOEXEC, above) });
    close(descriptor);
    Ok(moved? as c_int)
}

pub fn close(descriptor: c_int) {
    // SAFETY: close takes a plain number.
    unsafe { libc::syscall(libc::SYS_close, descriptor) };
}

pub fn status(descriptor: c_int) -> Result<libc::stat, FileError> {
    let mut status = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `status` is writable.
    let failed = unsafe { libc::fstat(descriptor, status.as_mut_ptr()) };
    result(failed.into())?;
    // SAFETY: fstat has written it.
    Ok(unsafe { status.assume_init() })
}

/// Leaves bytes after the file's end unchanged.
pub fn read_start(descriptor: c_int, bytes: &mut [u8]) -> Result<(), FileError> {
    let (first, length, from) = (bytes.as_mut_ptr(), bytes.len(), 0 as libc::off_t);
    // SAFETY: `bytes` is writable for `length` bytes.
    result(unsafe { libc::syscall(libc::SYS_pread64, descriptor, first, length, from) }).map(drop)
}

pub fn empty(descriptor: c_int) -> Result<(), FileError> {
    // SAFETY: ftruncate takes plain numbers.
    result(unsafe { libc::syscall(libc::SYS_ftruncate, descriptor, 0 as libc::off_t) }).map(drop)
}

pub fn append(path: &CStr, text: &[u8]) -> Result<(), FileError> {
    let (descriptor, _) = open(path, libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT)?;
    let written = write(descriptor, text);
    close(descriptor);
    written
}

/// Writes all of `text`, under [`within_limit`].
pub fn write(descriptor: c_int, text: &[u8]) -> Result<(), FileError> {
    within_limit(|| write_all(descriptor, text))
}

/// Lets a write beyond the process's limit (ulimit -f) fail with EFBIG: it consumes the kernel's SIGXFSZ, which would end
/// the program.
pub fn within_limit<R>(writes: impl FnOnce() -> R) -> R {
    if limit() == libc::RLIM_INFINITY {
        return writes();
    }
    let before = thread::mask_signals(libc::SIG_BLOCK, &size_signal());
    let was_pending = is_size_signal_pending();
    let written = writes();
    if !was_pending && is_size_signal_pending() {
        take_size_signal();
    }
    thread::restore_signals(&before);
    written
}

fn write_all(descriptor: c_int, text: &[u8]) -> Result<(), FileError> {
    let mut rest = text;
    while !rest.is_empty() {
        // SAFETY: `rest` is readable.
        let written = unsafe { libc::syscall(libc::SYS_write, descriptor, rest.as_ptr(), rest.len()) };
        match result(written) {
            Ok(0) => return Err(FileError::System(libc::ENOSPC)),
            Ok(count) => rest = rest.get(count as usize..).unwrap_or_default(),
            Err(FileError::System(libc::EINTR)) => {}
            Err(trouble) => return Err(trouble),
        }
    }
    Ok(())
}

/// Bytes of the longest file that the process may write.
pub fn limit() -> u64 {
    limits::of(libc::RLIMIT_FSIZE).unwrap_or(libc::RLIM_INFINITY)
}

fn is_size_signal_pending() -> bool {
    let mut pending = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: `pending` is writable.
    unsafe { libc::sigpending(pending.as_mut_ptr()) };
    // SAFETY: zeros are a valid set, and sigpending wrote it.
    unsafe { libc::sigismember(pending.as_ptr(), libc::SIGXFSZ) == 1 }
}

fn take_size_signal() {
    /// Bytes of the kernel's signal set.
    const SET: usize = 8;
    let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: set and time are live; a null siginfo is permitted.
    unsafe { libc::syscall(libc::SYS_rt_sigtimedwait, &size_signal(), null::<libc::siginfo_t>(), &at_once, SET) };
}

fn size_signal() -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: `set` is writable.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: sigemptyset wrote it.
    unsafe { libc::sigaddset(set.as_mut_ptr(), libc::SIGXFSZ) };
    // SAFETY: sigemptyset and sigaddset wrote it.
    unsafe { set.assume_init() }
}

pub fn result(returned: c_long) -> Result<c_long, FileError> {
    if returned >= 0 {
        return Ok(returned);
    }
    // SAFETY: __errno_location has no preconditions.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: the address is that of the calling thread's errno.
    Err(FileError::System(unsafe { *errno }))
}
