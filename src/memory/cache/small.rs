//! Small blocks: malloc's own, or one that was just given back, for the next object that it fits.
//!
//! glibc has a quick place for blocks of up to 1 KiB, its per-thread cache. Larger ones are written a quarter faster if
//! they are aligned to [`ALIGNMENT`] (4 KiB in the first cache, AMD EPYC), but aligned blocks come from the arenas alone,
//! cut out of larger ones, which costs more than that saves. So the block that is used over and over is an aligned one,
//! kept here meanwhile: it is still one of malloc's, and an exchange of one pointer is all that it takes to keep or to
//! get it. Where many small ones are in use at once, the others are as malloc has them.
#![expect(unsafe_code, reason = "blocks come from malloc's family, and go back to it")]

use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::memory::host::ALIGNMENT;
use crate::memory::host::malloc::aligned;
use crate::platform::address_hash::hash_address;
use crate::platform::sync::this_thread;
use crate::settings;

/// Up to so many bytes a block is left to malloc, which has as quick a place for it: glibc's per-thread cache.
const TINY: usize = 1 << 10;
/// Larger blocks are always aligned to [`ALIGNMENT`]. Nothing relies on it for smaller ones: the original's never were.
const SMALL: usize = 4 << 10;
/// Larger blocks are kept in the pool, with their sizes beside them.
pub const LARGEST: usize = 32 << 10;

/// Sizes that differ by less than an eighth, from one above [`TINY`] to [`LARGEST`]: a block that is to be kept has room
/// for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Class {
    number: usize,
    room: usize,
}

impl Class {
    /// The class of a size, by its power of two and the three bits below the highest.
    #[inline]
    const fn of(bytes: usize) -> Class {
        let last = bytes - 1;
        let power = last.ilog2();
        let eighths = last >> (power - 3);
        Class { number: 8 * (power - TINY.ilog2()) as usize + eighths - 8, room: (eighths + 1) << (power - 3) }
    }

    /// Whether there are such blocks.
    #[inline]
    fn if_kept(bytes: usize) -> Option<Class> {
        (bytes > TINY && bytes <= LARGEST && settings::keeps_pageable()).then(|| Class::of(bytes))
    }
}

/// How many classes there are, and how many of them are small.
const CLASSES: usize = Class::of(LARGEST).number + 1;
const SMALL_CLASSES: usize = Class::of(SMALL).number + 1;

/// A place for one block, on a cache line of its own: threads that work side by side do not slow each other down.
#[repr(align(64))]
struct Slot {
    block: AtomicPtr<c_void>,
    /// Whose block it is for: that one may be in use. Only a hint, the block itself is asked for its size.
    class: AtomicUsize,
}

const NONE: usize = usize::MAX;
const SMALL_SLOTS: usize = 200;
const LARGE_SLOTS: usize = 38;
static SLOTS: [Slot; SMALL_SLOTS + LARGE_SLOTS] =
    [const { Slot { block: AtomicPtr::new(null_mut()), class: AtomicUsize::new(NONE) } }; SMALL_SLOTS + LARGE_SLOTS];

/// What a kept block may have room for beyond its class's: an aligned chunk of glibc's is made to end where the next may begin,
/// and may have up to 32 bytes more.
const SURPLUS: usize = 96;
/// The most bytes that lie idle here.
const MOST: usize = SMALL_SLOTS * (SMALL + SURPLUS) + LARGE_SLOTS * (LARGEST + SURPLUS);
const _: () = assert!(MOST <= 2 << 20, "the header says so");

/// A block of `bytes` that `free()` takes: one that was kept, or a new one. It is aligned to [`ALIGNMENT`] if it is larger
/// than [`SMALL`], else as malloc's are.
#[inline]
pub fn allocate(bytes: usize) -> Option<NonNull<c_void>> {
    let Some(class) = Class::if_kept(bytes) else { return unkept(bytes) };
    let slot = slot(class);
    // Relaxed: to save the exchange where there is nothing to get.
    if !slot.block.load(Ordering::Relaxed).is_null() {
        // Acquire: with the release in `keep_or_free`, the last holder is done with the block.
        let block = slot.block.swap(null_mut(), Ordering::Acquire);
        // SAFETY: kept blocks are malloc's, and nobody else has this one now.
        if unsafe { is_of(class, block) } {
            return NonNull::new(block);
        }
        // SAFETY: as above; or null.
        unsafe { libc::free(block) };
    } else if slot.class.load(Ordering::Relaxed) == class.number {
        // The one that is kept here is in use.
        return unkept(bytes);
    }
    slot.class.store(class.number, Ordering::Relaxed);
    aligned(class.room)
}

/// Keeps a block of `bytes`, or frees it.
///
/// # Safety
/// The block came from malloc's family, and nobody refers to it any more.
#[inline]
pub unsafe fn keep_or_free(block: NonNull<c_void>, bytes: usize) {
    let mut surplus = block.as_ptr();
    if let Some(class) = Class::if_kept(bytes) {
        let slot = slot(class);
        // Relaxed: hints, which save the exchange of a block for one that is as good.
        let is_its_own = slot.class.load(Ordering::Relaxed) == class.number;
        let is_empty = slot.block.load(Ordering::Relaxed).is_null();
        if is_empty || !is_its_own {
            // An inlined original's may be less aligned or smaller, and so may that of an object whose size was changed
            // behind our back.
            // SAFETY: the block is malloc's, says the caller.
            let is_kept = unsafe { is_of(class, surplus) };
            if is_kept {
                // Release and acquire: the last holder of each is done with it when it is handed out or freed.
                surplus = slot.block.swap(surplus, Ordering::AcqRel);
            }
            // If it is not, the block of this slot may be in use for long: the next one is made to be kept.
            slot.class.store(if is_kept { class.number } else { NONE }, Ordering::Relaxed);
        }
    }
    // SAFETY: the caller's block, or one that was kept: both are malloc's; or null.
    unsafe { libc::free(surplus) };
}

/// Gives every kept block back.
pub fn give_back_all() {
    for slot in &SLOTS {
        slot.class.store(NONE, Ordering::Relaxed);
        // Acquire: as in `allocate`.
        let block = slot.block.swap(null_mut(), Ordering::Acquire);
        // SAFETY: kept blocks are malloc's; or it is null.
        unsafe { libc::free(block) };
    }
}

/// A new block that is not made to be kept.
#[inline]
fn unkept(bytes: usize) -> Option<NonNull<c_void>> {
    if bytes > SMALL {
        return aligned(bytes);
    }
    // SAFETY: malloc has no preconditions.
    NonNull::new(unsafe { libc::malloc(bytes) })
}

/// Whether a block is as good as one that was made for `class`, and not so large that more would lie idle than is said.
///
/// # Safety
/// It came from malloc's family, and is the caller's; or it is null, which is not.
#[inline]
unsafe fn is_of(class: Class, block: *mut c_void) -> bool {
    if block.addr() % ALIGNMENT != 0 {
        return false;
    }
    // SAFETY: the caller guarantees it; of null it is 0.
    let room = unsafe { libc::malloc_usable_size(block) };
    (class.room..=class.room + SURPLUS).contains(&room)
}

/// Threads that work side by side use slots of their own, as far as there are any; so do the classes of one thread.
#[inline]
fn slot(class: Class) -> &'static Slot {
    let hash = (hash_address(this_thread()) >> 32) as usize;
    let (first, slots) = match class.number < SMALL_CLASSES {
        true => (0, SMALL_SLOTS - SMALL_CLASSES + 1),
        false => (SMALL_SLOTS - SMALL_CLASSES, LARGE_SLOTS - (CLASSES - SMALL_CLASSES) + 1),
    };
    &SLOTS[first + ((hash * slots) >> 32) + class.number]
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The slots are the process's: one test at a time.
    static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());

    const KEPT: [usize; 5] = [TINY + 1, 2000, SMALL, SMALL + 1, LARGEST];

    fn new(bytes: usize) -> NonNull<c_void> {
        let Some(block) = allocate(bytes) else { panic!("there is memory for {bytes} bytes") };
        // SAFETY: just allocated.
        assert!(unsafe { libc::malloc_usable_size(block.as_ptr()) } >= bytes, "{bytes}");
        block
    }

    fn is_made_for(bytes: usize, block: NonNull<c_void>) -> bool {
        // SAFETY: it is malloc's, and in use.
        unsafe { is_of(Class::of(bytes), block.as_ptr()) }
    }

    fn give_back(block: NonNull<c_void>, bytes: usize) {
        // SAFETY: it is malloc's, and its holder does not use it again.
        unsafe { keep_or_free(block, bytes) };
    }

    /// Whether anything is kept for that size.
    fn is_there(bytes: usize) -> bool {
        !slot(Class::of(bytes)).block.load(Ordering::Relaxed).is_null()
    }

    #[test]
    fn the_sizes_of_a_class_follow_each_other_and_differ_by_less_than_an_eighth() {
        let mut before = Class { number: 0, room: TINY + TINY / 8 };
        for bytes in TINY + 1..=LARGEST {
            let class = Class::of(bytes);
            assert!(class.room >= bytes && class.room - bytes < bytes / 8, "{bytes}: {class:?}");
            assert!(class == before || (class.number == before.number + 1 && bytes == before.room + 1), "{bytes}");
            before = class;
        }
        assert_eq!(before, Class { number: CLASSES - 1, room: LARGEST });
        assert_eq!(Class::of(SMALL).room, SMALL);
    }

    #[test]
    fn a_block_comes_back_once_and_for_any_size_of_its_class() {
        let _turn = TURN.lock();
        for bytes in KEPT {
            give_back_all();
            let block = new(bytes);
            give_back(block, bytes);
            let largest = Class::of(bytes).room;
            assert_eq!(new(largest), block);
            assert!(!is_there(bytes), "it is not there twice");
            give_back(block, largest);
            assert_eq!(new(bytes), block);
            give_back(block, bytes);
        }
        give_back_all();
    }

    #[test]
    fn what_is_used_over_and_over_is_aligned_and_so_is_all_that_is_larger_than_small() {
        let _turn = TURN.lock();
        give_back_all();
        for bytes in KEPT {
            let blocks = [new(bytes), new(bytes), new(bytes)];
            let aligned = blocks.map(|block| block.addr().get() % ALIGNMENT == 0);
            assert!(aligned[0] && (bytes <= SMALL || aligned == [true; 3]), "{bytes}: {aligned:?}");
            for block in blocks {
                give_back(block, bytes);
            }
            let block = new(bytes);
            assert_eq!(block.addr().get() % ALIGNMENT, 0, "{bytes}");
            give_back(block, bytes);
        }
        give_back_all();
    }

    #[test]
    fn while_a_block_is_in_use_for_long_another_is_made_to_be_kept() {
        let _turn = TURN.lock();
        const BYTES: usize = SMALL - 500;
        give_back_all();
        let first = new(BYTES);
        assert!(is_made_for(BYTES, first));
        let second = new(BYTES);
        assert!(!is_made_for(BYTES, second), "it need not be cut out for that");
        give_back(second, BYTES);
        let third = new(BYTES);
        assert!(is_made_for(BYTES, third));
        give_back(third, BYTES);
        assert_eq!(new(BYTES), third);
        give_back(third, BYTES);
        give_back(first, BYTES);
        give_back_all();
    }

    #[test]
    fn nothing_is_kept_once_everything_was_given_back() {
        let _turn = TURN.lock();
        for bytes in KEPT {
            give_back_all();
            give_back(new(bytes), bytes);
            assert!(is_there(bytes));
            give_back_all();
            assert!(!is_there(bytes));
        }
    }

    #[test]
    fn a_block_that_is_less_aligned_is_not_kept() {
        let _turn = TURN.lock();
        for bytes in KEPT {
            give_back_all();
            let room = Class::of(bytes).room;
            // SAFETY: malloc has no preconditions.
            let blocks = [(); 8].map(|()| NonNull::new(unsafe { libc::malloc(room) }).expect("there is memory"));
            for block in blocks {
                give_back_all();
                let is_aligned = block.addr().get() % ALIGNMENT == 0;
                give_back(block, bytes);
                assert_eq!(is_there(bytes), is_aligned);
            }
        }
        give_back_all();
    }

    #[test]
    fn a_block_of_another_size_than_its_object_says_is_not_kept() {
        let _turn = TURN.lock();
        for bytes in KEPT {
            for its_own in [bytes / 2, bytes * 2] {
                give_back_all();
                give_back(aligned(its_own).expect("there is memory"), bytes);
                assert!(!is_there(bytes), "{its_own} for {bytes}");
            }
        }
    }

    #[test]
    fn blocks_that_malloc_or_the_pool_is_quick_with_are_not_kept() {
        for bytes in [0, 1, TINY, LARGEST + 1] {
            assert_eq!(Class::if_kept(bytes), None);
            give_back(new(bytes.max(1)), bytes);
        }
    }
}
