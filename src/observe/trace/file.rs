//! The file of a recording: its owner, space and mapping.
//!
//! One process writes to it, under an exclusive flock(2). A file that another process holds, or that this process wrote
//! before execve, is left to it. Space is reserved before it is touched: a store into a page without space is a SIGBUS.
#![expect(unsafe_code, reason = "flock(2), fallocate(2), pwrite(2), mmap(2)")]

use std::ffi::{CStr, c_int};
use std::ptr::{NonNull, null_mut};

use syncedmem_core::text::Text;
use syncedmem_trace::recording::HEADER;
use syncedmem_trace::recording::header::{self, Owner};

use crate::platform::file::{self, close, result, status};
use crate::platform::file_error::FileError;
use crate::platform::limits;
use crate::platform::sync::nap;

#[derive(Clone, Copy, Debug)]
pub struct File {
    descriptor: c_int,
    /// Device and inode. A program that becomes a daemon closes every descriptor, and may open another file under the same
    /// number.
    identity: (u64, u64),
}

pub enum Opened {
    /// The file belongs to this process, and is empty.
    Ready(File),
    /// Another process records to the file. `run` is the run of that process, if known.
    Taken { run: Option<u64> },
}

/// Number of naps that another process has for the beginning of its header: about a second in all.
const NAPS: u32 = 20_000;

impl File {
    /// Creates the file, or empties one with a recording that has ended. Other contents are an error.
    pub fn open(path: &CStr) -> Result<Opened, FileError> {
        let (descriptor, status) = file::open(path, libc::O_RDWR | libc::O_CREAT)?;
        let file = File { descriptor, identity: (status.st_dev, status.st_ino) };
        let is_regular = status.st_mode & libc::S_IFMT == libc::S_IFREG;
        let opened = if is_regular { file.find_out() } else { Err(FileError::NotAFile) };
        if !matches!(opened, Ok(Opened::Ready(_))) {
            close(descriptor);
        }
        opened
    }

    fn find_out(self) -> Result<Opened, FileError> {
        let lock = self.lock();
        if lock == Some(false) {
            return Ok(Opened::Taken { run: self.run_of_owner()? });
        }
        if status(self.descriptor)?.st_size > 0 {
            match self.owner()? {
                Some(owner) if !owner.ended && is_alive(owner.identity) => {
                    return Ok(Opened::Taken { run: Some(owner.run) });
                }
                Some(_) => {}
                // On a file system without locks, another process may be about to write its header.
                None if lock.is_some() && self.is_unfinished()? => {}
                None => return Err(FileError::NotATrace),
            }
            file::empty(self.descriptor)?;
        }
        Ok(Opened::Ready(self))
    }

    /// Whether a process was killed between the reservation of the header's space and its last word.
    #[inline(never)]
    fn is_unfinished(self) -> Result<bool, FileError> {
        let mut start = [1; HEADER as usize];
        file::read_start(self.descriptor, &mut start)?;
        Ok(status(self.descriptor)?.st_size as u64 == HEADER && header::is_unfinished(&start))
    }

    /// The run of the process that has the lock. Its header begins with zeros until it is written; the file of another program
    /// begins otherwise.
    fn run_of_owner(self) -> Result<Option<u64>, FileError> {
        for _ in 0..NAPS {
            let start = self.start()?;
            match Owner::read(&start) {
                Some(owner) => return Ok(Some(owner.run)),
                None if start[0] != 0 => break,
                None => nap(),
            }
        }
        Ok(None)
    }

    fn owner(self) -> Result<Option<Owner>, FileError> {
        Ok(Owner::read(&self.start()?))
    }

    /// The beginning of the file, with zeros after its end.
    fn start(self) -> Result<[u8; Owner::BYTES], FileError> {
        let mut start = [0; Owner::BYTES];
        file::read_start(self.descriptor, &mut start)?;
        Ok(start)
    }

    /// Takes the lock. `false`: another process has it; `None`: the file system has no locks.
    fn lock(self) -> Option<bool> {
        loop {
            // SAFETY: flock has no preconditions.
            match result(unsafe { libc::syscall(libc::SYS_flock, self.descriptor, libc::LOCK_EX | libc::LOCK_NB) }) {
                Err(FileError::System(libc::EWOULDBLOCK)) => return Some(false),
                Err(FileError::System(libc::EINTR)) => {}
                Err(_) => return None,
                Ok(_) => return Some(true),
            }
        }
    }

    pub fn reserve(self, from: u64, bytes: u64) -> Result<(), FileError> {
        if !self.is_mine() {
            return Err(FileError::Closed);
        }
        // The kernel sends SIGXFSZ for a write beyond the limit.
        if from + bytes > file::limit() {
            return Err(FileError::Limit);
        }
        loop {
            // SAFETY: fallocate takes plain numbers.
            let reserved = unsafe { libc::syscall(libc::SYS_fallocate, self.descriptor, 0, from, bytes) };
            match result(reserved) {
                Err(FileError::System(libc::EINTR)) => {}
                Err(FileError::System(libc::EOPNOTSUPP | libc::ENOSYS)) => return self.fill(from, bytes),
                reserved => return reserved.map(drop),
            }
        }
    }

    /// Writes zeros: some file systems cannot reserve space.
    fn fill(self, mut from: u64, bytes: u64) -> Result<(), FileError> {
        static ZEROS: [u8; 4096] = [0; 4096];
        let end = from + bytes;
        while from < end {
            let length = ZEROS.len().min((end - from) as usize);
            // SAFETY: `ZEROS` has `length` bytes, which the kernel only reads.
            match result(unsafe { libc::syscall(libc::SYS_pwrite64, self.descriptor, ZEROS.as_ptr(), length, from) }) {
                Ok(0) => return Err(FileError::System(libc::ENOSPC)),
                Ok(written) => from += written as u64,
                Err(FileError::System(libc::EINTR)) => {}
                Err(trouble) => return Err(trouble),
            }
        }
        Ok(())
    }

    /// Maps `bytes` from `at` on. `place` is an earlier mapping of the same length, which is replaced, and unmapped after an
    /// error. Only reserved bytes may be touched.
    ///
    /// # Safety
    /// No thread uses the earlier mapping.
    pub unsafe fn map(self, at: u64, bytes: usize, place: Option<NonNull<u8>>) -> Result<NonNull<u8>, FileError> {
        let wanted = place.map_or(null_mut(), NonNull::as_ptr).cast();
        let flags = libc::MAP_SHARED | if place.is_some() { libc::MAP_FIXED } else { 0 };
        let (access, at) = (libc::PROT_READ | libc::PROT_WRITE, at as libc::off_t);
        let mapped = match self.is_mine() {
            // SAFETY: MAP_FIXED replaces only the earlier mapping, and the caller of `map` guarantees that no thread uses it.
            true => match unsafe { libc::mmap(wanted, bytes, access, flags, self.descriptor, at) } {
                libc::MAP_FAILED => result(-1).map(|_| None),
                address => Ok(NonNull::new(address.cast())),
            },
            false => Err(FileError::Closed),
        };
        if let (Err(_), Some(place)) = (mapped, place) {
            // SAFETY: the caller of `map` guarantees that no thread uses the earlier mapping.
            unsafe { libc::munmap(place.as_ptr().cast(), bytes) };
        }
        mapped?.ok_or(FileError::System(libc::ENOMEM))
    }

    /// Empties a file that has no header yet.
    pub fn empty(self) {
        // An error is ignored: the caller reports the error that came before.
        let _ = if self.is_mine() { file::empty(self.descriptor) } else { Ok(()) };
    }

    /// Closes the file, unless the number now belongs to another file.
    pub fn close(self) {
        if self.is_mine() {
            close(self.descriptor);
        }
    }

    fn is_mine(self) -> bool {
        status(self.descriptor).is_ok_and(|status| (status.st_dev, status.st_ino) == self.identity)
    }

    /// The file as words that can be stored in atomics.
    pub fn parts(self) -> [u64; 3] {
        [self.descriptor as u64, self.identity.0, self.identity.1]
    }

    pub fn of_parts([descriptor, device, inode]: [u64; 3]) -> File {
        File { descriptor: descriptor as c_int, identity: (device, inode) }
    }
}

/// Number of bits of a process id: the kernel's largest id has 22.
const ID_BITS: u32 = 22;

/// The id of a process, and its start in ticks of the kernel. `None` if the process has ended.
pub fn identity(process: u32) -> Option<u64> {
    let path = Text::<32>::of(format_args!("/proc/{process}/stat"));
    let mut buffer = [0; 512];
    let stat = limits::read(CStr::from_bytes_until_nul(path.as_bytes_with_nul()).ok()?, &mut buffer)?;
    // The name, the second field, may have spaces and parentheses. The start is the 22nd (proc(5)).
    let (_, rest) = stat.rsplit_once(')')?;
    let start: u64 = rest.split_ascii_whitespace().nth(19)?.parse().ok()?;
    Some(start << ID_BITS | u64::from(process))
}

fn is_alive(owner: u64) -> bool {
    identity((owner & ((1 << ID_BITS) - 1)) as u32) == Some(owner)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_process_lives_while_its_number_and_start_are_the_kernels() {
        let own = identity(std::process::id()).unwrap();
        assert_eq!(own & ((1 << ID_BITS) - 1), std::process::id().into());
        assert!(is_alive(own));
        assert!(!is_alive(own + (1 << ID_BITS)), "the same number, started at another time");
        assert!(!is_alive(0));
    }
}
