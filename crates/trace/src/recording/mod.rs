//! The recording: what a traced process writes, one file for each process.
//!
//! A file has three parts, and its numbers are little-endian words of 64 bits:
//! 1. the [`header`], one page: what the process is, how much is used, and an account that is exact whatever gave way;
//! 2. the [`text`] area: names of objects, call sites, names of threads;
//! 3. the [`record`]s of 64 bytes. Once all are used, the oldest give way.
//!
//! The process maps the file and stores into it, so a store survives the process's end, whatever ends it. A word that
//! makes an entry valid is stored last: an entry that the process did not finish is seen as such.
//!
//! Nothing here calls the system: the writer passes the mapped words, and a reader the bytes of a file.

pub mod header;
pub mod record;
pub mod text;

/// Bytes of the header.
pub const HEADER: u64 = 4096;
/// Bytes of a record.
pub const RECORD: u64 = 64;

/// The most bytes of the text area.
const TEXTS: u64 = 4 << 20;
/// The least bytes of a recording.
pub const LEAST: u64 = 64 << 10;

/// The sizes of a recording's parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of the text area.
    pub texts: u64,
    /// Number of records.
    pub most: u64,
}

impl Layout {
    /// The layout of a recording of at most `bytes`, but at least [`LEAST`].
    pub const fn within(bytes: u64) -> Layout {
        let bytes = if bytes < LEAST { LEAST } else { bytes };
        let texts = if bytes / 8 < TEXTS { bytes / 8 / HEADER * HEADER } else { TEXTS };
        Layout { texts, most: (bytes - HEADER - texts) / RECORD }
    }

    /// Bytes of the whole.
    pub const fn bytes(self) -> u64 {
        self.record_at(self.most)
    }

    /// Where the record in `slot` begins in the file.
    pub const fn record_at(self, slot: u64) -> u64 {
        HEADER + self.texts + slot * RECORD
    }

    /// The slot of the record of that index, and the lap of the ring that it belongs to.
    pub const fn slot(self, index: u64) -> (u64, u32) {
        // Before the first lap ends, without a division.
        if index < self.most { (index, 0) } else { (index % self.most, (index / self.most) as u32) }
    }
}

/// The words of these bytes.
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

    #[test]
    fn the_ring_comes_back_to_its_first_slot_in_the_next_lap() {
        let layout = Layout { texts: HEADER, most: 10 };
        assert_eq!([0, 9, 10, 25].map(|index| layout.slot(index)), [(0, 0), (9, 0), (0, 1), (5, 2)]);
        assert_eq!(layout.record_at(1), 2 * HEADER + RECORD);
    }
}
