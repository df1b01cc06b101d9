//! The parts of the file that are mapped, and the threads that are inside a record. Address space belongs to the program,
//! whose limit (`ulimit -v`) counts it.
//!
//! A new window of records takes the place of an old one while no other thread is inside. So a recording of any length needs
//! few windows, and no new one when address space is exhausted. Callers hold the lock of `mapping`, except for [`address`].
#![expect(unsafe_code, reason = "addresses in windows, munmap(2)")]

use std::ptr::{NonNull, null_mut};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicPtr, AtomicU32};

use super::file::File;
use crate::platform::file_error::FileError;
use crate::platform::sync::nap;

/// Number of windows of a file. The windows of files above 256 MiB are larger than 1 MiB.
pub const COUNT: usize = 256;
const LEAST: u32 = 20;

/// Addresses of the windows; null: not mapped.
static BASES: [AtomicPtr<u8>; COUNT] = [const { AtomicPtr::new(null_mut()) }; COUNT];
/// Binary logarithm of the bytes of a window.
static SHIFT: AtomicU32 = AtomicU32::new(LEAST);

#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    pub window: usize,
    /// This window stays mapped.
    pub kept: usize,
    /// Windows from here on may be replaced.
    pub first: usize,
    /// Map the window even if no other window can be replaced now.
    pub at_once: bool,
}

/// Begins a file of `bytes`. The windows of an earlier file stay mapped: they belong to the parent of a forked child.
pub fn begin(bytes: u64) {
    let shift = (LEAST..63).find(|&shift| bytes <= (COUNT as u64) << shift);
    SHIFT.store(shift.unwrap_or(63), Relaxed);
    BASES.iter().for_each(|base| base.store(null_mut(), Relaxed));
}

pub fn bytes() -> u64 {
    1 << SHIFT.load(Relaxed)
}

/// The window that contains a place in the file.
#[inline]
pub fn of(at: u64) -> usize {
    (at >> SHIFT.load(Relaxed)) as usize
}

/// The address of a place in the file, if its window is mapped.
#[inline]
pub fn address(at: u64) -> Option<NonNull<u8>> {
    let base = NonNull::new(BASES.get(of(at))?.load(Acquire))?;
    // SAFETY: the offset is less than the bytes of this window, which is mapped.
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
/// The calling thread is inside, or `first` is [`COUNT`], so that no window is replaced.
pub unsafe fn map(file: File, wanted: Wanted) -> Result<(), FileError> {
    let Wanted { window, kept, first, at_once } = wanted;
    let base = BASES.get(window).ok_or(FileError::System(libc::ENOMEM))?;
    let may_go = |other: &usize| ![window, kept].contains(other) && !BASES[*other].load(Relaxed).is_null();
    let idle = (first..COUNT).find(may_go);
    let place = idle.and_then(take);
    if !base.load(Relaxed).is_null() {
        place.into_iter().for_each(unmap);
    } else if at_once || idle.is_some() == place.is_some() {
        // SAFETY: `take` made sure that no other thread uses the place.
        let mapped = unsafe { file.map((window as u64) << SHIFT.load(Relaxed), bytes() as usize, place) }?;
        // Release: pairs with `address`.
        base.store(mapped.as_ptr(), Release);
    }
    Ok(())
}

/// Takes the place of a window, unless another thread may be writing to it.
fn take(window: usize) -> Option<NonNull<u8>> {
    let base = BASES[window].swap(null_mut(), SeqCst);
    if is_alone() {
        return NonNull::new(base);
    }
    BASES[window].store(base, Release);
    None
}

fn unmap(base: NonNull<u8>) {
    // SAFETY: the window has this length, and `take` or the caller of `end` guarantees that no thread uses it.
    unsafe { libc::munmap(base.as_ptr().cast(), bytes() as usize) };
}

/// Unmaps all windows.
///
/// # Safety
/// No thread uses the recording any more.
pub unsafe fn end() {
    BASES.iter().filter_map(|base| NonNull::new(base.swap(null_mut(), Relaxed))).for_each(unmap);
}

static INSIDE: AtomicU32 = AtomicU32::new(0);

/// While it lives, its thread is inside: the recording stays mapped.
pub struct Inside(());

impl Inside {
    /// SeqCst: a thread that changes the state of the trace after this sees the count and waits.
    #[inline]
    pub fn begin() -> Inside {
        INSIDE.fetch_add(1, SeqCst);
        Inside(())
    }
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        // Release: a thread that finds no other one inside sees the writes of this one.
        INSIDE.fetch_sub(1, Release);
    }
}

/// Whether no thread but the caller is inside. A thread that begins later sees what the caller did before: its increment
/// follows this read-modify-write.
fn is_alone() -> bool {
    INSIDE.fetch_add(0, SeqCst) == 1
}

/// Waits until no thread is inside.
pub fn wait_for_none() {
    while INSIDE.load(SeqCst) != 0 {
        nap();
    }
}

/// Forgets the threads that were inside: they do not exist in a forked child.
pub fn forget_threads() {
    INSIDE.store(0, SeqCst);
}
