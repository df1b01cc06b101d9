//! Checksums of host contents: only they can show that a copy or a fill changed nothing.
//!
//! A record holds a hash of all bytes (equal: nothing has changed) and 64 sampled words (all different: probably
//! everything has changed). Off by default, because it reads every byte that is copied.
#![expect(unsafe_code, reason = "the host's memory is read")]

use std::ffi::c_void;
use std::ptr::NonNull;

use syncedmem_trace::address_hash::{AddressMap, address_map};
use syncedmem_trace::event::{Changed, Since, What};
use syncedmem_trace::head::Side;

use super::recorder::{self, Span, Subject};
use crate::platform::sync::{Lock, locked_static};
use crate::state::flags::{self, COMPARE};

const SAMPLES: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq)]
struct Checksum {
    since: Since,
    /// Address and size in bytes of the host side.
    host: usize,
    bytes: usize,
    hash: u64,
    samples: [u64; SAMPLES],
}

locked_static! { static CHECKSUMS: Lock<AddressMap<Checksum>> = Lock::new(address_map()); }

#[inline]
pub fn are_compared() -> bool {
    flags::are_events_read() && flags::has(COMPARE)
}

/// For an object whose host side was filled with zeros.
pub fn filled(subject: Subject, host: NonNull<c_void>) {
    let (host, bytes) = (host.addr().get(), subject.bytes);
    keep(subject, Checksum { since: Since::Fill, host, bytes, hash: 0, samples: [0; SAMPLES] });
}

/// For an object whose two sides no longer hold the same data.
#[cold]
pub fn forget(object: usize) {
    if flags::has(COMPARE) {
        CHECKSUMS.with(|checksums| checksums.remove(&object));
    }
}

/// Drops all records: they may belong to objects that ended while nothing was compared.
pub fn forget_all() {
    CHECKSUMS.with(|checksums| checksums.clear());
}

/// Records what has changed on the host.
///
/// # Safety
/// `host` is readable for the object's size, and no other thread writes it during the call. The copy itself demands the
/// same.
pub unsafe fn before_copy_to_device(subject: Subject, host: NonNull<c_void>) {
    // SAFETY: the caller guarantees it.
    let now = unsafe { Checksum::of(subject, host) };
    tell(subject, judged(subject, Side::Host, now));
    keep(subject, now);
}

/// Records what had changed on the device before the copy.
///
/// # Safety
/// As for `before_copy_to_device`.
pub unsafe fn after_copy_to_host(subject: Subject, host: NonNull<c_void>, copy: &Span) {
    // SAFETY: the caller guarantees it.
    let now = unsafe { Checksum::of(subject, host) };
    if let Some(what) = judged(subject, Side::Device, now) {
        copy.found(subject, what);
    }
    keep(subject, now);
}

/// Records at the object's end whether its zeros were overwritten.
///
/// # Safety
/// As for `before_copy_to_device`, if the library filled this block.
pub unsafe fn at_end(subject: Subject, host: NonNull<c_void>) {
    let before = CHECKSUMS.with(|checksums| checksums.remove(&subject.object));
    // Only the block that was filled is read: other memory, such as the caller's own, may be gone already.
    let was_filled = |before: Checksum| before.since == Since::Fill && before.host == host.addr().get();
    if before.is_some_and(was_filled) {
        // SAFETY: the caller guarantees it.
        let now = unsafe { Checksum::of(subject, host) };
        tell(subject, compared(Side::Host, before, now));
    }
}

fn judged(subject: Subject, side: Side, now: Checksum) -> Option<What> {
    let before = CHECKSUMS.with(|checksums| checksums.get(&subject.object).copied());
    compared(side, before, now)
}

fn compared(side: Side, before: Option<Checksum>, now: Checksum) -> Option<What> {
    let before = before.filter(|before| before.host == now.host && before.bytes == now.bytes)?;
    Some(What::Compared { side, since: before.since, changed: now.changed_since(&before) })
}

fn tell(subject: Subject, what: Option<What>) {
    if let Some(what) = what {
        recorder::record(subject, || what);
    }
}

/// Without memory there is no record, and the next comparison has nothing to compare with.
fn keep(subject: Subject, checksum: Checksum) {
    CHECKSUMS.with(|checksums| {
        if checksums.try_reserve(1).is_ok() {
            checksums.insert(subject.object, checksum);
        }
    });
}

impl Checksum {
    /// # Safety
    /// As for `before_copy_to_device`.
    unsafe fn of(subject: Subject, host: NonNull<c_void>) -> Checksum {
        // SAFETY: the caller guarantees it.
        let contents = unsafe { std::slice::from_raw_parts(host.cast::<u8>().as_ptr(), subject.bytes) };
        let words = contents.len() / WORD;
        let sample = |index: usize| word(contents, index * words / SAMPLES);
        Checksum {
            since: Since::Copy,
            host: host.addr().get(),
            bytes: subject.bytes,
            hash: hash(contents),
            samples: if words == 0 { [0; SAMPLES] } else { std::array::from_fn(sample) },
        }
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
        unsafe { Checksum::of(Subject { object: 1, bytes: contents.len() }, host) }
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
