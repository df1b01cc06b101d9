//! One way to spread addresses over the slots of a table.

/// Mixes `key` so that its upper bits differ where keys differ anywhere: Fibonacci hashing, a multiplication by
/// 2^64 divided by the golden ratio (Knuth, The Art of Computer Programming, volume 3, 6.4). Take the upper bits.
#[inline]
pub const fn spread(key: usize) -> u64 {
    (key as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}
