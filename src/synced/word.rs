//! Bytes 24 to 31 of an object as one 64-bit word: the head, three flags, and one byte of our own.
//!
//! The head and the flags are where BVLC's header has them. Byte 31 is padding in every layout of ABI.md:
//! its top bit says "take the slow path", the other seven are the owning device's ordinal, as a hint.

use crate::head::{Head, Side};

#[cfg(target_endian = "big")]
compile_error!("the head is taken for the low half of the word");

/// A value of the word. Everything in it but the head counts only while the head is not UNINITIALIZED:
/// constructors that are inlined into their callers leave the rest as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word(pub u64);

const HEAD: u64 = 0xFFFF_FFFF;
const OWN_CPU: u64 = 1 << 32;
const PINNED: u64 = 1 << 40;
const OWN_GPU: u64 = 1 << 48;
const FLAGS: u64 = 0x00FF_FFFF_0000_0000;
const SLOW: u64 = 1 << 63;
const UNKNOWN_DEVICE: u64 = 127 << 56;
/// No head has this number, and its low bits are those of UNINITIALIZED, which sends every access the slow way.
const DESTROYED: u64 = 0xDEAD_5E30;

impl Word {
    /// What an out-of-line constructor writes.
    pub const NEW: Word = Word(Head::Uninitialized as u64 | UNKNOWN_DEVICE);
    /// What a destructor leaves, so that a later use can be told.
    pub const DESTROYED: Word = Word(DESTROYED | UNKNOWN_DEVICE);

    /// The head; `None` if these are not the bytes of a live object.
    pub const fn head(self) -> Option<Head> {
        Head::from_number((self.0 & HEAD) as u32)
    }

    /// Whether the head is UNINITIALIZED.
    #[inline]
    pub const fn is_untouched(self) -> bool {
        self.0 & HEAD == Head::Uninitialized as u64
    }

    /// Whether `side` can be read right away: it is current, and nothing is in flight. One mask, one compare.
    #[inline]
    pub const fn is_ready_to_read(self, side: Side) -> bool {
        // The heads' numbers are a bit for each side that is current.
        let current = Head::only_at(side) as u64;
        self.0 & (current | SLOW) == current
    }

    /// Whether `side` can be written right away: it alone is current, and nothing is in flight.
    #[inline]
    pub const fn is_ready_to_write(self, side: Side) -> bool {
        self.0 & (Head::Synced as u64 | SLOW) == Head::only_at(side) as u64
    }

    /// The same with another head, and nothing in flight.
    pub const fn with_head(self, head: Head) -> Word {
        let rest = if self.is_untouched() { UNKNOWN_DEVICE } else { self.0 & !HEAD & !SLOW };
        Word(rest | head as u64)
    }

    /// The same with another host block.
    pub const fn with_host(self, owned: bool, pinned: bool) -> Word {
        let rest = self.0 & !(0xFF << 32) & !(0xFF << 40);
        Word(rest | if owned { OWN_CPU } else { 0 } | if pinned { PINNED } else { 0 })
    }

    /// Whether the object must give back its host block. Asked only where there is one.
    pub const fn owns_host(self) -> bool {
        self.0 & OWN_CPU != 0
    }

    /// Whether the object must give back its device block. Asked only where there is one.
    pub const fn owns_device(self) -> bool {
        self.0 & OWN_GPU != 0
    }

    /// Whether every flag byte holds 0 or 1, which is all that C++ allows a `bool` to hold.
    pub const fn has_true_bools(self) -> bool {
        self.0 & FLAGS & !(OWN_CPU | PINNED | OWN_GPU) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADS: [Head; 4] = [Head::Uninitialized, Head::AtCpu, Head::AtGpu, Head::Synced];

    #[test]
    fn the_fast_path_agrees_with_the_state_machine() {
        for head in HEADS {
            for side in [Side::Host, Side::Device] {
                let word = Word::NEW.with_head(head);
                assert_eq!(word.is_ready_to_read(side), head.is_current(side), "{head:?} {side:?}");
                assert_eq!(word.is_ready_to_write(side), head == Head::only_at(side), "{head:?} {side:?}");
                assert!(!Word(word.0 | SLOW).is_ready_to_read(side));
                assert!(!Word(word.0 | SLOW).is_ready_to_write(side));
            }
        }
    }

    #[test]
    fn garbage_around_an_uninitialized_head_is_dropped_at_the_first_transition() {
        let garbage = Word(0xA5A5_A5A5_0000_0000);
        assert_eq!(garbage.head(), Some(Head::Uninitialized));
        let word = garbage.with_head(Head::AtCpu).with_host(true, false);
        assert!(word.has_true_bools());
        assert!(word.owns_host() && !word.owns_device());
        assert!(word.is_ready_to_read(Side::Host));
    }

    #[test]
    fn a_destroyed_object_is_never_ready_and_has_no_head() {
        assert_eq!(Word::DESTROYED.head(), None);
        for side in [Side::Host, Side::Device] {
            assert!(!Word::DESTROYED.is_ready_to_read(side));
            assert!(!Word::DESTROYED.is_ready_to_write(side));
        }
    }

    #[test]
    fn flags_are_where_bvlc_has_them() {
        let bytes = Word::NEW.with_head(Head::Synced).with_host(true, true).0.to_le_bytes();
        assert_eq!(bytes, [3, 0, 0, 0, 1, 1, 0, 127]);
    }
}
