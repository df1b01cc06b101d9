//! What the entry of a shared object keeps, and the figures of all of them.

use std::ffi::{CStr, c_char};
use std::ptr::null_mut;
// Not loom's: the numbers only differ.
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering::Relaxed};

use syncedmem_core::head::Side;

use crate::memory::arena::device::Place;

/// Counted while it lives.
pub struct Share {
    /// The sentence of the error of a read of what was given up.
    pub gone: &'static CStr,
    /// Where in the arena the block lies, if that is free.
    pub place: Place,
    /// How many bytes layers write of the next block, and have written of the present one, from its beginning on.
    next: usize,
    pub written: usize,
    /// Of the host and of the device: bytes, once a block was lent; 0 before.
    bytes: [u64; 2],
}

static SHARES: AtomicUsize = AtomicUsize::new(0);
/// Bytes that the objects would have on each side if each had a block of its own.
static BYTES: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
static MOST_BYTES: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
/// Sentences of objects that were touched from outside of layers: each once, the first ones.
static TOUCHED: [AtomicPtr<c_char>; 100] = [const { AtomicPtr::new(null_mut()) }; 100];

impl Share {
    pub fn new(gone: &'static CStr) -> Share {
        SHARES.fetch_add(1, Relaxed);
        Share { gone, place: Place::default(), next: usize::MAX, written: usize::MAX, bytes: [0; 2] }
    }

    /// Layers write so many bytes from now on. Returns how many the present block has, if those are fewer.
    pub fn writes(&mut self, bytes: usize) -> Option<usize> {
        self.next = bytes;
        (bytes > self.written).then(|| std::mem::replace(&mut self.written, usize::MAX))
    }

    /// A new block was lent, whose bytes are another object's.
    pub fn begin_block(&mut self) {
        self.written = self.next;
    }

    pub fn count(&mut self, side: Side, bytes: u64) {
        let side = usize::from(side == Side::Device);
        if self.bytes[side] == 0 {
            self.bytes[side] = bytes;
            MOST_BYTES[side].fetch_max(BYTES[side].fetch_add(bytes, Relaxed) + bytes, Relaxed);
        }
    }

    pub fn note_touched(&self) {
        let gone = self.gone.as_ptr().cast_mut();
        for place in &TOUCHED {
            match place.compare_exchange(null_mut(), gone, Relaxed, Relaxed) {
                Err(known) if known != gone => {}
                _ => return,
            }
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        BYTES.iter().zip(self.bytes).for_each(|(sum, bytes)| _ = sum.fetch_sub(bytes, Relaxed));
        SHARES.fetch_sub(1, Relaxed);
    }
}

pub fn is_any() -> bool {
    SHARES.load(Relaxed) > 0
}

/// The most bytes that shared objects would have had at once on each side, and the sentences of those that were touched from outside.
pub fn figures() -> ([u64; 2], impl Iterator<Item = *const c_char>) {
    let sentences = TOUCHED.iter().map(|place| place.load(Relaxed).cast_const());
    ([0, 1].map(|side| MOST_BYTES[side].load(Relaxed)), sentences.take_while(|sentence| !sentence.is_null()))
}
