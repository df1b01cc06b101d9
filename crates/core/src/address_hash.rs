//! Distributes addresses over the slots of a table.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Fibonacci hashing: any difference between keys shows in the upper bits (Knuth, The Art of Computer Programming,
/// volume 3, 6.4).
#[inline]
pub const fn hash_address(key: usize) -> u64 {
    (key as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

pub type AddressMap<V> = HashMap<usize, V, BuildHasherDefault<AddressHasher>>;

pub const fn address_map<V>() -> AddressMap<V> {
    AddressMap::with_hasher(BuildHasherDefault::new())
}

/// Rotates the result: its upper bits are the best ones, and the map uses both ends.
#[derive(Default)]
pub struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(usize::from(byte));
        }
    }

    fn write_usize(&mut self, address: usize) {
        self.0 = hash_address(self.0 as usize ^ address).rotate_left(20);
    }
}
