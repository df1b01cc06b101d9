//! The recording of one process: a file in three parts, of little-endian words of 64 bits.
//! 1. the [`header`], one page: the process, how much is used, and the peaks of memory;
//! 2. the [`text`] area: names of objects, call sites, names of threads;
//! 3. the [`record`]s of 64 bytes. Once all are used, a new record replaces the oldest.
//!
//! The process stores into a mapping of the file, so a store survives the process, however it ends. The word that makes an
//! entry valid is stored last. Nothing here calls the system.

pub mod header;
pub mod record;
#[cfg(feature = "sample")]
pub mod sample;
pub mod text;

/// Bytes.
pub const HEADER: u64 = 4096;
pub const RECORD: u64 = 64;

/// Bytes of the text area, at most.
const TEXTS: u64 = 4 << 20;
/// Bytes of a recording, at least.
pub const LEAST: u64 = 64 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of the text area.
    pub texts: u64,
    /// Number of records.
    pub most: u64,
}

impl Layout {
    /// The layout of a file of at most `bytes`, but at least [`LEAST`].
    pub const fn within(bytes: u64) -> Layout {
        let bytes = if bytes < LEAST { LEAST } else { bytes };
        let texts = if bytes / 8 < TEXTS { bytes / 8 / HEADER * HEADER } else { TEXTS };
        Layout { texts, most: (bytes - HEADER - texts) / RECORD }
    }

    pub const fn bytes(self) -> u64 {
        self.record_at(self.most)
    }

    /// The place of a slot in the file.
    pub const fn record_at(self, slot: u64) -> u64 {
        HEADER + self.texts + slot * RECORD
    }

    /// The slot of a record, and the lap of the ring that it belongs to.
    pub const fn slot(self, index: u64) -> (u64, u32) {
        // Before the first lap ends, without a division.
        if index < self.most { (index, 0) } else { (index % self.most, (index / self.most) as u32) }
    }
}

fn words<const BYTES: usize, const WORDS: usize>(bytes: &[u8; BYTES]) -> [u64; WORDS] {
    const { assert!(BYTES == 8 * WORDS) };
    let mut words = [0; WORDS];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_fits_into_its_bytes_and_leaves_less_than_a_record() {
        for bytes in [0, LEAST, LEAST + 1, 1 << 20, (32 << 20) - 1, 256 << 20, 1 << 40] {
            let layout = Layout::within(bytes);
            let bytes = bytes.max(LEAST);
            assert!(layout.bytes() <= bytes && layout.bytes() + RECORD > bytes, "{bytes}: {layout:?}");
            assert!(layout.texts >= HEADER && layout.texts % HEADER == 0);
        }
    }
}
