//! Addresses for data that a layer asks for and does not read. Should one be read after all, every float there is a NaN.
#![expect(unsafe_code, reason = "one file is mapped again and again")]

use std::ffi::c_void;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::ptr::{NonNull, null_mut, with_exposed_provenance_mut};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::error::Error;

/// The bytes of the file, which are all the memory that the addresses take.
const PIECE: usize = 1 << 20;

/// An address with `bytes` readable bytes, which stay mapped.
pub fn address(bytes: usize) -> Result<NonNull<c_void>, Error> {
    /// The number of pieces of the largest range, in the upper half, and its start, in pieces, in the lower one.
    static LARGEST: AtomicU64 = AtomicU64::new(0);
    // Ranges of growing contents, which stay mapped, add up to twice the largest.
    let pieces = bytes.div_ceil(PIECE).next_power_of_two();
    let mut largest = LARGEST.load(Relaxed);
    if ((largest >> 32) as usize) < pieces {
        let start = map(pieces).ok_or(Error::no_room(bytes))?;
        largest = (pieces as u64) << 32 | (start / PIECE) as u64;
        LARGEST.fetch_max(largest, Relaxed);
    }
    NonNull::new(with_exposed_provenance_mut(largest as u32 as usize * PIECE)).ok_or(Error::Internal)
}

/// Maps so many pieces in a row, from a multiple of a piece on. They are never unmapped.
fn map(pieces: usize) -> Option<usize> {
    let bytes = pieces.checked_mul(PIECE)?;
    // SAFETY: the name is NUL-terminated.
    let number = unsafe { libc::memfd_create(c"libsyncedmem".as_ptr(), libc::MFD_CLOEXEC) };
    // SAFETY: the descriptor is new, and nothing else closes it.
    let file = (number >= 0).then(|| unsafe { File::from_raw_fd(number) })?;
    file.write_all_at(&[0xFF; PIECE], 0).ok()?;
    const ANY: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping at an address of the kernel's choice.
    let range = unsafe { libc::mmap(null_mut(), bytes.checked_add(PIECE)?, libc::PROT_NONE, ANY, -1, 0) };
    if range == libc::MAP_FAILED {
        return None;
    }
    let start = range.expose_provenance().next_multiple_of(PIECE);
    let is_mapped = |piece: usize| {
        let at = with_exposed_provenance_mut(start + piece * PIECE);
        // SAFETY: the address is within the mapping that was made above, which nothing else uses.
        let mapped =
            unsafe { libc::mmap(at, PIECE, libc::PROT_READ, libc::MAP_SHARED | libc::MAP_FIXED, file.as_raw_fd(), 0) };
        mapped != libc::MAP_FAILED
    };
    (0..pieces).all(is_mapped).then_some(start)
}
