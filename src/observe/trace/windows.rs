//! The parts of the file that are mapped: address space belongs to the program, whose limit (`ulimit -v`) counts it.
//!
//! A new window of records takes the place of an old one, while no other thread is within a record. So a recording of
//! any length needs few windows, and none of its own where address space is exhausted. Callers hold the lock of
//! `mapping`, except for [`address`].
#![expect(unsafe_code, reason = "addresses in windows, munmap(2)")]

use std::ptr::{NonNull, null_mut};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicPtr, AtomicU32};

use super::file::File;
use super::inside;
use crate::platform::file_error::FileError;

/// Windows of a file: those of files above 256 MiB are larger than 1 MiB.
pub const COUNT: usize = 256;
const LEAST: u32 = 20;

/// Addresses of windows; null: not mapped.
static BASES: [AtomicPtr<u8>; COUNT] = [const { AtomicPtr::new(null_mut()) }; COUNT];
/// Of a window's bytes, the logarithm.
static SHIFT: AtomicU32 = AtomicU32::new(LEAST);

#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    pub window: usize,
    /// Stays mapped.
    pub kept: usize,
    /// Windows from here on may give their place.
    pub first: usize,
    /// Also beside windows whose place cannot be taken now.
    pub at_once: bool,
}

/// For a file of so many bytes. The windows of an earlier one, which a forked child's parent has, stay mapped.
pub fn begin(bytes: u64) {
    let shift = (LEAST..63).find(|&shift| bytes <= (COUNT as u64) << shift);
    SHIFT.store(shift.unwrap_or(63), Relaxed);
    BASES.iter().for_each(|base| base.store(null_mut(), Relaxed));
}

pub fn bytes() -> u64 {
    1 << SHIFT.load(Relaxed)
}

/// The window with a place in the file.
#[inline]
pub fn of(at: u64) -> usize {
    (at >> SHIFT.load(Relaxed)) as usize
}

/// The address of a place in the file, if it is mapped.
#[inline]
pub fn address(at: u64) -> Option<NonNull<u8>> {
    let base = NonNull::new(BASES.get(of(at))?.load(Acquire))?;
    // SAFETY: the place is in this window, which is mapped.
    Some(unsafe { base.add((at & (bytes() - 1)) as usize) })
}

/// The address of the first window, which stays mapped.
#[inline]
pub fn first() -> *mut u8 {
    BASES[0].load(Relaxed)
}

/// Maps a window if there is address space for it.
///
/// # Safety
/// The thread is inside, unless no window may give its place: `first` is [`COUNT`].
pub unsafe fn map(file: File, wanted: Wanted) -> Result<(), FileError> {
    let Wanted { window, kept, first, at_once } = wanted;
    let base = BASES.get(window).ok_or(FileError::System(libc::ENOMEM))?;
    let may_go = |other: &usize| ![window, kept].contains(other) && !BASES[*other].load(Relaxed).is_null();
    let idle = (first..COUNT).find(may_go);
    let place = idle.and_then(take);
    if !base.load(Relaxed).is_null() {
        place.into_iter().for_each(unmap);
    } else if at_once || idle.is_some() == place.is_some() {
        // SAFETY: `take` took the place from all threads.
        let mapped = unsafe { file.map((window as u64) << SHIFT.load(Relaxed), bytes() as usize, place) }?;
        // Release: pairs with `address`.
        base.store(mapped.as_ptr(), Release);
    }
    Ok(())
}

/// The place of a window, unless another thread may be writing to it.
fn take(window: usize) -> Option<NonNull<u8>> {
    let base = BASES[window].swap(null_mut(), SeqCst);
    if inside::is_alone() {
        return NonNull::new(base);
    }
    BASES[window].store(base, Release);
    None
}

fn unmap(base: NonNull<u8>) {
    // SAFETY: a window of this length, which `take` or the caller of `end` has taken from all threads.
    unsafe { libc::munmap(base.as_ptr().cast(), bytes() as usize) };
}

/// # Safety
/// No thread uses the recording any more.
pub unsafe fn end() {
    BASES.iter().filter_map(|base| NonNull::new(base.swap(null_mut(), Relaxed))).for_each(unmap);
}
