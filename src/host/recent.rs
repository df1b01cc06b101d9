//! A few blocks that were just given back, for the next that asks for the same size.
//!
//! glibc serves aligned blocks from its arenas alone, past its per-thread cache, which costs more than to fill them.
//! A block here is still one of malloc's, and an exchange of one pointer is all that it takes to keep or to get one.
#![expect(unsafe_code, reason = "a kept block's first word holds its size")]

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::ALIGNMENT;

/// With [`LARGEST`] it bounds what lies idle: 2 MiB.
const SLOTS: usize = 64;
/// malloc's blocks have room for two words, however few bytes were asked for: its own lists need them.
const SMALLEST: usize = 1;
/// Larger blocks are not kept: to fill one takes longer than to get it from malloc.
const LARGEST: usize = 32 << 10;

static RECENT: [AtomicPtr<c_void>; SLOTS] = [const { AtomicPtr::new(std::ptr::null_mut()) }; SLOTS];

/// A block of exactly `bytes`, if one was kept.
pub fn take(bytes: usize) -> Option<NonNull<c_void>> {
    if !is_kept(bytes) {
        return None;
    }
    // Acquire: the size that the last holder wrote is seen.
    let block = NonNull::new(slot(bytes).swap(std::ptr::null_mut(), Ordering::Acquire))?;
    // SAFETY: whoever kept the block wrote its size there, and nobody else has it now.
    if unsafe { block.cast::<usize>().read() } == bytes {
        return Some(block);
    }
    // SAFETY: kept blocks are malloc's.
    unsafe { libc::free(block.as_ptr()) };
    None
}

/// Keeps a block of `bytes`, or frees it.
///
/// # Safety
/// The block came from malloc's family with at least that many bytes, and nobody refers to it any more.
pub unsafe fn keep_or_free(block: NonNull<c_void>, bytes: usize) {
    let mut surplus = block.as_ptr();
    // A block of an inlined original's may be less aligned than ours must be.
    if is_kept(bytes) && block.addr().get() % ALIGNMENT == 0 {
        // SAFETY: the caller's block has room for a word, see `SMALLEST`, and is aligned.
        unsafe { block.cast::<usize>().write(bytes) };
        // Release: the size is seen by whoever takes it. Acquire: as in `take`, for the one that makes room.
        surplus = slot(bytes).swap(surplus, Ordering::AcqRel);
    }
    // SAFETY: the caller's block, or one that was kept: both are malloc's; or null.
    unsafe { libc::free(surplus) };
}

fn is_kept(bytes: usize) -> bool {
    (SMALLEST..=LARGEST).contains(&bytes) && !crate::settings::malloc_only()
}

/// Threads that work side by side use slots of their own.
fn slot(bytes: usize) -> &'static AtomicPtr<c_void> {
    // SAFETY: pthread_self has no preconditions.
    let thread = unsafe { libc::pthread_self() } as usize;
    let hash = (bytes ^ thread.rotate_left(20)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    &RECENT[hash >> (usize::BITS - SLOTS.trailing_zeros())]
}
