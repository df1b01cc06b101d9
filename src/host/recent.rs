//! A few blocks that were just given back, for the next that asks for the same size.
//!
//! glibc serves aligned blocks from its arenas alone, past its per-thread cache, which costs more than to fill them.
//! A block here is still one of malloc's, and an exchange of one pointer is all that it takes to keep or to get one.
#![expect(unsafe_code, reason = "a kept block's first word holds its size")]

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::ALIGNMENT;
use crate::settings;
use crate::spread::spread;
use crate::sync::this_thread;

/// With [`LARGEST`] it bounds what lies idle: 2 MiB, and some tiny blocks.
const SLOTS: usize = 64;
/// Larger blocks are kept in the pool, with their sizes beside them.
pub const LARGEST: usize = 32 << 10;
/// A block of so many bytes has room for its size.
const WORD: usize = size_of::<usize>();

/// A place for one block, on a cache line of its own: threads that work side by side do not slow each other down.
#[repr(align(64))]
struct Slot(AtomicPtr<c_void>);

impl Slot {
    const fn empty() -> Slot {
        Slot(AtomicPtr::new(std::ptr::null_mut()))
    }
}

/// Blocks of any size from [`WORD`] on: the first word of each says which.
static SIZED: [Slot; SLOTS] = [const { Slot::empty() }; SLOTS];
/// Blocks too small for that, by size.
static TINY: [[Slot; 8]; WORD - 1] = [const { [const { Slot::empty() }; 8] }; WORD - 1];

/// A block of exactly `bytes`, if one was kept.
pub fn take(bytes: usize) -> Option<NonNull<c_void>> {
    if !is_kept(bytes) {
        return None;
    }
    // Acquire: the size that the last holder wrote is seen.
    let block = NonNull::new(slot(bytes).swap(std::ptr::null_mut(), Ordering::Acquire))?;
    // SAFETY: whoever kept a block of this slot wrote its size there, and nobody else has it now.
    if bytes < WORD || unsafe { block.cast::<usize>().read() } == bytes {
        return Some(block);
    }
    // SAFETY: kept blocks are malloc's.
    unsafe { libc::free(block.as_ptr()) };
    None
}

/// Keeps a block of `bytes`, or frees it.
///
/// # Safety
/// The block came from malloc's family, and nobody refers to it any more.
pub unsafe fn keep_or_free(block: NonNull<c_void>, bytes: usize) {
    let mut surplus = block.as_ptr();
    if is_kept(bytes) && is_ours(block, bytes) {
        if bytes >= WORD {
            // SAFETY: the block is large enough, and aligned.
            unsafe { block.cast::<usize>().write(bytes) };
        }
        // Release: the size is seen by whoever takes it. Acquire: as in `take`, for the one that makes room.
        surplus = slot(bytes).swap(surplus, Ordering::AcqRel);
    }
    // SAFETY: the caller's block, or one that was kept: both are malloc's; or null.
    unsafe { libc::free(surplus) };
}

/// Gives every kept block back.
pub fn give_back_all() {
    for slot in SIZED.iter().chain(TINY.iter().flatten()) {
        // Acquire: as in `take`.
        let block = slot.0.swap(std::ptr::null_mut(), Ordering::Acquire);
        // SAFETY: kept blocks are malloc's; or it is null.
        unsafe { libc::free(block) };
    }
}

/// Whether the block is as good as one of ours. An inlined original's may be less aligned, and an object whose
/// size was changed behind our back may have a smaller one.
fn is_ours(block: NonNull<c_void>, bytes: usize) -> bool {
    // SAFETY: the block is malloc's, says the caller of `keep_or_free`.
    let room = || unsafe { libc::malloc_usable_size(block.as_ptr()) };
    block.addr().get() % ALIGNMENT == 0 && (bytes < WORD || room() >= bytes)
}

fn is_kept(bytes: usize) -> bool {
    (1..=LARGEST).contains(&bytes) && settings::keeps_pageable()
}

/// Threads that work side by side use slots of their own, as far as there are any.
fn slot(bytes: usize) -> &'static AtomicPtr<c_void> {
    let hash = (spread(bytes ^ this_thread().rotate_left(20)) >> 32) as usize;
    match TINY.get(bytes.wrapping_sub(1)) {
        Some(slots) => &slots[hash % slots.len()].0,
        None => &SIZED[hash % SLOTS].0,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The slots are the process's: one test at a time.
    static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());

    fn malloc(bytes: usize) -> Option<NonNull<c_void>> {
        let mut block = std::ptr::null_mut();
        // SAFETY: `block` is writable, and the alignment a power of two.
        assert_eq!(unsafe { libc::posix_memalign(&mut block, ALIGNMENT, bytes) }, 0);
        NonNull::new(block)
    }

    #[test]
    fn a_kept_block_comes_back_for_its_own_size_alone() {
        let _turn = TURN.lock();
        for bytes in [1, 7, 8, 4000, LARGEST] {
            let block = malloc(bytes).expect("there is memory");
            // SAFETY: just allocated, and not used until it comes back.
            unsafe { keep_or_free(block, bytes) };
            assert_eq!(take(bytes), Some(block));
            assert_eq!(take(bytes), None, "it is not there twice");
            // SAFETY: it came back.
            unsafe { libc::free(block.as_ptr()) };
        }
    }

    #[test]
    fn nothing_is_kept_once_everything_was_given_back() {
        let _turn = TURN.lock();
        for bytes in [3, 20_000] {
            let block = malloc(bytes).expect("there is memory");
            // SAFETY: just allocated, and not used again.
            unsafe { keep_or_free(block, bytes) };
            give_back_all();
            assert_eq!(take(bytes), None);
        }
    }

    #[test]
    fn a_block_that_is_less_aligned_is_not_kept() {
        let _turn = TURN.lock();
        const BYTES: usize = 6000;
        // SAFETY: malloc has no preconditions.
        let block = NonNull::new(unsafe { libc::malloc(BYTES + ALIGNMENT) }).expect("there is memory");
        let aligned = block.addr().get() % ALIGNMENT == 0;
        // SAFETY: just allocated, and not used again.
        unsafe { keep_or_free(block, BYTES) };
        assert_eq!(take(BYTES).is_some(), aligned);
    }

    #[test]
    fn a_block_that_is_smaller_than_its_object_says_is_not_kept() {
        let _turn = TURN.lock();
        let block = malloc(64).expect("there is memory");
        // SAFETY: just allocated, and not used again.
        unsafe { keep_or_free(block, 30_000) };
        assert_eq!(take(30_000), None);
    }

    #[test]
    fn blocks_without_bytes_and_very_large_ones_are_not_kept() {
        let _turn = TURN.lock();
        for bytes in [0, LARGEST + 1] {
            let block = malloc(bytes.max(1)).expect("there is memory");
            // SAFETY: just allocated, and not used again.
            unsafe { keep_or_free(block, bytes) };
            assert_eq!(take(bytes), None);
        }
    }
}
