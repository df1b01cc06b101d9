//! What the entry of a shared object keeps, and the figures of all of them.

use std::ffi::{CStr, c_char};
use std::ptr::null_mut;
// Not loom's: the numbers only differ.
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Counted while it lives.
pub struct Share {
    /// The sentence of the error of a read of what was given up.
    pub gone: &'static CStr,
    /// Where in the arena the block lies, if that is free.
    pub offset: Option<usize>,
    /// Bytes, once a block was lent; 0 before.
    bytes: u64,
}

static SHARES: AtomicUsize = AtomicUsize::new(0);
/// Bytes that the objects would have if each had a block of its own.
static BYTES: AtomicU64 = AtomicU64::new(0);
static MOST_BYTES: AtomicU64 = AtomicU64::new(0);
/// Sentences of objects that were touched from outside of layers: each once, the first ones.
static TOUCHED: [AtomicPtr<c_char>; 100] = [const { AtomicPtr::new(null_mut()) }; 100];

impl Share {
    pub fn new(gone: &'static CStr) -> Share {
        SHARES.fetch_add(1, Relaxed);
        Share { gone, offset: None, bytes: 0 }
    }

    pub fn count(&mut self, bytes: u64) {
        if self.bytes == 0 {
            self.bytes = bytes;
            MOST_BYTES.fetch_max(BYTES.fetch_add(bytes, Relaxed) + bytes, Relaxed);
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
        BYTES.fetch_sub(self.bytes, Relaxed);
        SHARES.fetch_sub(1, Relaxed);
    }
}

pub fn is_any() -> bool {
    SHARES.load(Relaxed) > 0
}

/// The most bytes that shared objects would have had at once, and the sentences of those that were touched from outside.
pub fn figures() -> (u64, impl Iterator<Item = *const c_char>) {
    let sentences = TOUCHED.iter().map(|place| place.load(Relaxed).cast_const());
    (MOST_BYTES.load(Relaxed), sentences.take_while(|sentence| !sentence.is_null()))
}
