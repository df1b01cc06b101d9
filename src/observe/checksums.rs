//! Checksums of host contents: only they can show that a copy or a fill changed nothing.
//!
//! A checksum holds a hash of all bytes (equal: nothing has changed) and 64 sampled words (all different: probably
//! everything has changed). Off by default, because it reads every byte that is copied.
#![expect(unsafe_code, reason = "the host's memory is read")]

use std::ffi::c_void;
use std::ptr::NonNull;

// Not loom's: a model compares nothing.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use syncedmem_trace::event::{Changed, Since, What};
use syncedmem_trace::head::Side;

use crate::platform::fallible_arc::FallibleArc;
use crate::state::flags::{self, COMPARE};

const SAMPLES: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Checksum {
    since: Since,
    /// Contents may have changed unseen since an earlier period.
    period: u64,
    /// Address and size in bytes of the host side.
    host: usize,
    bytes: usize,
    hash: u64,
    samples: [u64; SAMPLES],
}

/// As an object's entry holds it.
pub type KeptChecksum = FallibleArc<Checksum>;

/// The number of times that comparing was turned on.
static PERIOD: AtomicU64 = AtomicU64::new(0);

#[inline]
pub fn are_compared() -> bool {
    flags::are_events_read() && flags::has(COMPARE)
}

/// Earlier checksums are compared with nothing any more: changes were not seen meanwhile.
pub fn begin_period() {
    PERIOD.fetch_add(1, Relaxed);
}

impl Checksum {
    /// Of a host side that was filled with zeros.
    pub fn of_zeros(host: NonNull<c_void>, bytes: usize) -> Checksum {
        let (host, period) = (host.addr().get(), PERIOD.load(Relaxed));
        Checksum { since: Since::Fill, period, host, bytes, hash: 0, samples: [0; SAMPLES] }
    }

    /// Of the contents at a copy.
    ///
    /// # Safety
    /// `host` is readable for so many bytes, and no other thread writes them during the call.
    pub unsafe fn of(host: NonNull<c_void>, bytes: usize) -> Checksum {
        // SAFETY: the caller guarantees it.
        let contents = unsafe { std::slice::from_raw_parts(host.cast::<u8>().as_ptr(), bytes) };
        let words = contents.len() / WORD;
        let sample = |index: usize| word(contents, index * words / SAMPLES);
        Checksum {
            since: Since::Copy,
            period: PERIOD.load(Relaxed),
            host: host.addr().get(),
            bytes,
            hash: hash(contents),
            samples: if words == 0 { [0; SAMPLES] } else { std::array::from_fn(sample) },
        }
    }

    /// Whether the block at `host` was filled with zeros. At an object's end only that is read: other memory, such as the caller's
    /// own, may be gone already.
    pub fn is_of_zeros(&self, host: NonNull<c_void>) -> bool {
        self.since == Since::Fill && self.host == host.addr().get()
    }

    /// `side` had the contents' changes since `before`.
    pub fn compared(&self, side: Side, before: &Checksum) -> Option<What> {
        let place = |checksum: &Checksum| (checksum.period, checksum.host, checksum.bytes);
        let is_comparable = place(self) == place(before);
        is_comparable.then(|| What::Compared { side, since: before.since, changed: self.changed_since(before) })
    }

    /// Without memory it is not kept, and the next comparison has nothing to compare with.
    pub fn kept(self) -> Option<KeptChecksum> {
        FallibleArc::new(self).ok()
    }

    fn changed_since(&self, before: &Checksum) -> Changed {
        if self.hash == before.hash {
            return Changed::Nothing;
        }
        let all = self.samples.iter().zip(&before.samples).all(|(now, before)| now != before);
        if all { Changed::Everything } else { Changed::Part }
    }
}

const WORD: usize = size_of::<u64>();

fn word(contents: &[u8], index: usize) -> u64 {
    contents[index * WORD..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// A hash that is 0 for zeros of any length. Four independent lanes let it read at the memory's speed.
fn hash(contents: &[u8]) -> u64 {
    const LANES: usize = 4;
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mix = |lane: u64, word: u64| (lane.rotate_left(29) ^ word).wrapping_mul(FACTOR);
    let mut lanes = [0; LANES];
    let mut pieces = contents.chunks_exact(LANES * WORD);
    for piece in &mut pieces {
        for (index, lane) in lanes.iter_mut().enumerate() {
            *lane = mix(*lane, word(piece, index));
        }
    }
    let rest = pieces.remainder().iter().fold(0, |hash, &byte| mix(hash, u64::from(byte)));
    lanes.into_iter().fold(rest, mix)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn checksum(contents: &[u8]) -> Checksum {
        let host = NonNull::from(contents).cast();
        // SAFETY: `contents` is a live slice of that size.
        unsafe { Checksum::of(host, contents.len()) }
    }

    #[test]
    fn one_byte_that_changed_is_seen_wherever_it_is() {
        for size in [1, 7, 8, 31, 32, 33, 100, 4096, 5001] {
            let mut contents: Vec<u8> = (0..size).map(|i| (i % 251) as u8).collect();
            let before = checksum(&contents);
            assert_eq!(checksum(&contents).changed_since(&before), Changed::Nothing);
            for place in [0, size / 2, size - 1] {
                contents[place] ^= 1;
                assert_ne!(checksum(&contents).changed_since(&before), Changed::Nothing, "byte {place} of {size}");
                contents[place] ^= 1;
            }
        }
    }

    #[test]
    fn zeros_hash_to_zero_whatever_their_number() {
        for size in [0, 1, 8, 33, 4096] {
            assert_eq!(hash(&vec![0; size]), 0);
        }
        assert_ne!(hash(&[0, 0, 1]), 0);
    }

    #[test]
    fn everything_has_changed_where_each_sample_has() {
        let before = checksum(&[0; 4096]);
        assert_eq!(checksum(&[1; 4096]).changed_since(&before), Changed::Everything);
        let mut half = [1; 4096];
        half[2048..].fill(0);
        assert_eq!(checksum(&half).changed_since(&before), Changed::Part);
    }

    #[test]
    fn words_that_change_places_are_seen() {
        let mut contents = [0_u8; 64];
        contents[0] = 1;
        let before = checksum(&contents);
        contents.swap(0, 32);
        assert_ne!(checksum(&contents).changed_since(&before), Changed::Nothing);
    }
}
