//! Bytes 24 to 31 of an object as one word. The head and three flags lie where BVLC's header has them. The bits for the slow path and
//! for contents without a block are in byte 31, which is padding in every layout of docs/caffe-abi.md.

use syncedmem_core::head::{Access, Head, Side};

use super::step::Contents;

#[cfg(target_endian = "big")]
compile_error!("the head must be the low half of the word");

/// While the head is UNINITIALIZED all other bits mean nothing: constructors that were inlined from an old Caffe's header do not write
/// them. The bits about a side's block mean something only if the side has a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word(pub u64);

const HEAD: u64 = 0xFFFF_FFFF;
const OWN_CPU: u64 = 1 << 32;
const PINNED: u64 = 1 << 40;
const OWN_GPU: u64 = 1 << 48;
const GIVEN_UP: u64 = 1 << 61;
const PARKED: u64 = 1 << 62;
const SLOW: u64 = 1 << 63;
/// The number is no head's. Its low bits are those of UNINITIALIZED, so every access takes the slow path.
const DESTROYED: u64 = 0xDEAD_5E30;

impl Word {
    pub const NEW: Word = Word(Head::Uninitialized as u64);
    /// The destructor writes this word, by which a later use is detected.
    pub const DESTROYED: Word = Word(DESTROYED);

    /// Whether the host is current and the object owns one block, which is pageable host memory.
    #[inline]
    pub const fn owns_pageable_alone(self) -> bool {
        self.0 & (HEAD | OWN_CPU | PINNED | OWN_GPU | SLOW) == Head::AtCpu as u64 | OWN_CPU
    }

    /// `None` if the bytes are not a live object's.
    pub const fn head(self) -> Option<Head> {
        Head::from_number((self.0 & HEAD) as u32)
    }

    #[inline]
    pub const fn is_untouched(self) -> bool {
        self.0 & HEAD == Head::Uninitialized as u64
    }

    pub const fn deciding(access: Access, side: Side) -> u64 {
        // The number of a head has one bit for each current side.
        match access {
            Access::Read => SLOW | Head::only_at(side) as u64,
            Access::Write | Access::Overwrite => SLOW | Head::Synced as u64,
        }
    }

    /// Whether an access needs no work: the slow bit is clear, and `side` is current; for a write, it alone.
    #[inline]
    pub const fn is_ready(self, deciding: u64, side: Side) -> bool {
        self.0 & deciding == Head::only_at(side) as u64
    }

    /// For an object without a copy in flight: the slow bit is cleared.
    pub const fn with(self, contents: Contents) -> Word {
        let rest = if self.is_untouched() { 0 } else { self.0 & !HEAD & !SLOW & !PARKED & !GIVEN_UP };
        let without_block = match contents {
            Contents::Parked => PARKED,
            Contents::GivenUp => GIVEN_UP,
            _ => 0,
        };
        Word(rest | without_block | contents.head() as u64)
    }

    /// The word alone decides: another thread may be storing the pointers. A word without a head counts as untouched.
    #[inline]
    pub const fn contents(self) -> Contents {
        match self.head() {
            None | Some(Head::Uninitialized) => Contents::Untouched,
            Some(Head::AtCpu) if self.is_parked() => Contents::Parked,
            Some(Head::AtCpu) if self.0 & GIVEN_UP != 0 => Contents::GivenUp,
            Some(Head::AtCpu) => Contents::At(Side::Host),
            Some(Head::AtGpu) => Contents::At(Side::Device),
            Some(Head::Synced) => Contents::Both,
        }
    }

    pub const fn with_host(self, owned: bool, pinned: bool) -> Word {
        let rest = self.0 & !(0xFF << 32) & !(0xFF << 40);
        Word(rest | if owned { OWN_CPU } else { 0 } | if pinned { PINNED } else { 0 })
    }

    pub const fn with_device(self, owned: bool) -> Word {
        Word(self.0 & !(0xFF << 48) | if owned { OWN_GPU } else { 0 })
    }

    pub const fn slow(self) -> Word {
        Word(self.0 | SLOW)
    }

    pub const fn is_slow(self) -> bool {
        self.0 & SLOW != 0
    }

    pub const fn is_parked(self) -> bool {
        self.0 & PARKED != 0
    }

    pub const fn fast(self) -> Word {
        Word(self.0 & !SLOW)
    }

    pub const fn owns_host(self) -> bool {
        self.0 & OWN_CPU != 0
    }

    pub const fn is_pinned(self) -> bool {
        self.0 & PINNED != 0
    }

    pub const fn owns_device(self) -> bool {
        self.0 & OWN_GPU != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::state::step::{Fill, Operation, Step, step};

    fn every_access() -> impl Iterator<Item = (Access, Side)> {
        let accesses = [Access::Read, Access::Write, Access::Overwrite];
        accesses.into_iter().flat_map(|access| [(access, Side::Host), (access, Side::Device)])
    }

    const PRESENT: [Contents; 4] =
        [Contents::Untouched, Contents::At(Side::Host), Contents::At(Side::Device), Contents::Both];

    fn is_ready(word: Word, access: Access, side: Side) -> bool {
        word.is_ready(Word::deciding(access, side), side)
    }

    #[test]
    fn the_fast_path_agrees_with_the_state_machine() {
        for (access, side) in every_access() {
            for now in PRESENT {
                let word = Word::NEW.with(now);
                let nothing_to_do =
                    step(now, Operation::Access(access, side)) == Ok(Step { fill: Fill::Nothing, next: now });
                assert_eq!(is_ready(word, access, side), nothing_to_do, "{access:?} {side:?} {now:?}");
                assert!(!is_ready(Word(word.0 | SLOW), access, side));
                assert!(!word.is_ready(0, side), "no bits decide nothing");
            }
        }
    }

    #[test]
    fn a_word_says_which_contents_it_was_made_for_and_forgets_the_earlier_ones() {
        const ALL: [Contents; 6] =
            [PRESENT[0], PRESENT[1], PRESENT[2], PRESENT[3], Contents::GivenUp, Contents::Parked];
        for (before, now) in ALL.into_iter().flat_map(|before| ALL.map(|now| (before, now))) {
            let word = Word::NEW.with(before).slow().with(now);
            assert_eq!((word.contents(), word.head(), word.is_slow()), (now, Some(now.head()), false), "{before:?}");
        }
        assert_eq!(Word::DESTROYED.contents(), Contents::Untouched);
    }

    #[test]
    fn garbage_around_an_uninitialized_head_is_dropped_at_the_first_transition() {
        let garbage = Word(0xA5A5_A5A5_0000_0000);
        assert_eq!(garbage.head(), Some(Head::Uninitialized));
        let word = garbage.with(Contents::At(Side::Host)).with_host(true, false);
        assert_eq!(word.0.to_le_bytes(), [1, 0, 0, 0, 1, 0, 0, 0]);
    }

    #[test]
    fn a_destroyed_object_is_never_ready_and_has_no_head() {
        assert_eq!(Word::DESTROYED.head(), None);
        for (access, side) in every_access() {
            assert!(!is_ready(Word::DESTROYED, access, side));
        }
    }

    #[test]
    fn flags_are_where_bvlc_has_them() {
        let word = Word::NEW.with(Contents::Both).with_host(true, true);
        assert_eq!(word.0.to_le_bytes(), [3, 0, 0, 0, 1, 1, 0, 0]);
        assert_eq!(word.with_device(true).0.to_le_bytes(), [3, 0, 0, 0, 1, 1, 1, 0]);
        assert_eq!(word.with_device(true).slow().0.to_le_bytes(), [3, 0, 0, 0, 1, 1, 1, 0x80]);
    }
}
