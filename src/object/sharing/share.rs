//! The part of a shared object's entry, and the figures of all shared objects.

use std::ffi::{CStr, c_char};
use std::ptr::null_mut;
// Figures need no ordering, so loom need not model them.
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering::Relaxed};

use syncedmem_core::head::Side;

use super::parked::Lent;
use crate::memory::arena::device::Place;
use crate::platform::fallible_arc::FallibleArc;

/// Counted while it lives.
pub struct Share {
    /// The sentence of the error of a read after the contents were given up.
    pub gone: &'static CStr,
    /// The places in the arena of a new block and of one for contents that come back, which it gets if they are free.
    pub places: [Place; 2],
    /// The place for the contents while they are parked, and its bytes.
    pub stored: (Place, usize),
    /// The present block, if it was lent to a parked object.
    pub lent: Option<FallibleArc<Lent>>,
    /// The bytes from the beginning that layers write of the next block, and have written of the present one.
    next: usize,
    pub written: usize,
    /// For the host and the device: the object's bytes since it had a block from an arena; 0 before.
    bytes: [u64; 2],
}

static SHARES: AtomicUsize = AtomicUsize::new(0);
/// Bytes that shared objects would have on each side if none shared.
static BYTES: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
static MOST_BYTES: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
/// The first sentences of objects that were touched from outside of layers, each once.
static TOUCHED: [AtomicPtr<c_char>; 100] = [const { AtomicPtr::new(null_mut()) }; 100];

impl Share {
    pub fn new(gone: &'static CStr) -> Share {
        SHARES.fetch_add(1, Relaxed);
        Share {
            gone,
            places: [Place::default(); 2],
            stored: (Place::default(), 0),
            lent: None,
            next: usize::MAX,
            written: usize::MAX,
            bytes: [0; 2],
        }
    }

    /// Notes the bytes that layers write from now on. Returns the written bytes of the present block, if they are fewer.
    pub fn writes(&mut self, bytes: usize) -> Option<usize> {
        self.next = bytes;
        (bytes > self.written).then(|| std::mem::replace(&mut self.written, usize::MAX))
    }

    /// Notes a new block, which holds another object's bytes.
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

/// The most bytes that shared objects would have had at once on each side, and the sentences of those touched from outside of layers.
pub fn figures() -> ([u64; 2], impl Iterator<Item = *const c_char>) {
    let sentences = TOUCHED.iter().map(|place| place.load(Relaxed).cast_const());
    ([0, 1].map(|side| MOST_BYTES[side].load(Relaxed)), sentences.take_while(|sentence| !sentence.is_null()))
}
