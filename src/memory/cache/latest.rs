//! The small block of more than [`TINY`] bytes that a thread freed last, for its next object of this size. It is not
//! counted as idle, and only its thread gives it back.
//!
//! It is kept from the second one of a size in a row on: where sizes vary, malloc would take longer.
//!
//! glibc's per-thread cache has none so large: malloc and free of one take 380 instructions. An entry is one thread's alone, so it
//! needs no lock. As malloc itself, it is not for signal handlers.
#![expect(unsafe_code, reason = "blocks of malloc's family are freed")]

use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicUsize};

use crate::memory::malloc::TINY;
use crate::memory::thread_slot::{self, SLOTS};
use crate::settings;

/// On a cache line of its own (128: x86 fetches lines in pairs).
#[repr(align(128))]
struct Latest {
    block: AtomicPtr<c_void>,
    /// The block's size in bytes; 0: there is none.
    room: AtomicUsize,
    /// Bytes of the object that was freed last.
    freed: AtomicUsize,
}

static LATEST: [Latest; SLOTS] =
    [const { Latest { block: AtomicPtr::new(null_mut()), room: AtomicUsize::new(0), freed: AtomicUsize::new(0) } };
        SLOTS];

/// This thread's entry. No index that could panic: the path of small objects is outside of the entry points' guard.
#[inline]
fn latest() -> Option<&'static Latest> {
    LATEST.get(thread_slot::of_this_thread_alone()?)
}

/// A block of `bytes` and at most an eighth more; its contents are undefined.
#[inline]
pub fn take(bytes: usize) -> Option<NonNull<c_void>> {
    let latest = latest()?;
    if latest.room.load(Relaxed).wrapping_sub(bytes) > bytes / 8 {
        return None;
    }
    if !settings::keeps_pageable() {
        // Another thread switched the pools off: it could not free this one's block.
        give_back();
        return None;
    }
    latest.room.store(0, Relaxed);
    NonNull::new(latest.block.load(Relaxed))
}

#[cold]
pub fn give_back() {
    let Some(latest) = latest() else { return };
    if latest.room.load(Relaxed) != 0 {
        latest.room.store(0, Relaxed);
        // SAFETY: the caller of `free` guaranteed it when the block was kept, and only this thread takes it.
        unsafe { libc::free(latest.block.load(Relaxed)) };
    }
}

/// Frees a small block that an object held as one of `bytes`, or keeps it as this thread's latest.
///
/// # Safety
/// The block came from malloc's family, and is not used any more.
// Not inlined: tiny blocks' path saves fewer registers.
#[inline(never)]
pub unsafe fn free(block: NonNull<c_void>, bytes: usize) {
    let freed = if bytes > TINY { replaced_by(block, bytes) } else { block.as_ptr() };
    // SAFETY: the caller guarantees it, now or when the block was kept.
    unsafe { libc::free(freed) };
}

/// Keeps a block; returns the one to free: the block kept before or null, or else this one.
#[inline]
fn replaced_by(block: NonNull<c_void>, bytes: usize) -> *mut c_void {
    let Some(latest) = latest() else { return block.as_ptr() };
    if latest.freed.load(Relaxed) != bytes {
        latest.freed.store(bytes, Relaxed);
        return block.as_ptr();
    }
    if !settings::keeps_pageable() {
        return block.as_ptr();
    }
    let before = if latest.room.load(Relaxed) == 0 { null_mut() } else { latest.block.load(Relaxed) };
    // The program may have changed the object's size.
    // SAFETY: the block came from malloc's family and is not freed.
    let room = unsafe { libc::malloc_usable_size(block.as_ptr()) };
    // In this order: a forked child may get the entry between two stores, and a thread there the slot.
    latest.room.store(0, Relaxed);
    latest.block.store(block.as_ptr(), Release);
    latest.room.store(room, Release);
    before
}
