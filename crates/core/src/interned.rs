//! Interned names.

use crate::address_hash::{AddressMap, address_map};
use std::hash::{DefaultHasher, Hash, Hasher};

pub struct Names {
    texts: Vec<String>,
    /// Numbers of names. The key is the name's hash, or the next free key after it.
    numbers: AddressMap<u32>,
}

impl Names {
    pub const fn new() -> Names {
        Names { texts: Vec::new(), numbers: address_map() }
    }

    /// Adds the name if it is new. `None` if there is no memory for it.
    pub fn number(&mut self, name: &str) -> Option<u32> {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        let mut key = hasher.finish() as usize;
        loop {
            match self.numbers.get(&key) {
                Some(&number) if self.texts[number as usize] == name => return Some(number),
                // Another name with the same hash.
                Some(_) => key = key.wrapping_add(1),
                None => break,
            }
        }
        let mut text = String::new();
        text.try_reserve_exact(name.len()).ok()?;
        text.push_str(name);
        self.texts.try_reserve(1).ok()?;
        self.numbers.try_reserve(1).ok()?;
        let number = u32::try_from(self.texts.len()).ok()?;
        self.texts.push(text);
        self.numbers.insert(key, number);
        Some(number)
    }

    pub fn count(&self) -> usize {
        self.texts.len()
    }

    pub fn text(&self, number: u32) -> Option<&str> {
        self.texts.get(number as usize).map(String::as_str)
    }
}
