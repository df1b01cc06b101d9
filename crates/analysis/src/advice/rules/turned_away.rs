use std::collections::BTreeMap;

use syncedmem_trace::kind::Kind;

/// Blocks turned away and not yet counted for an allocation, by kind and size in bytes.
#[derive(Clone, Debug, Default)]
pub struct TurnedAway([BTreeMap<u64, u64>; 3]);

impl TurnedAway {
    pub fn add(&mut self, kind: Kind, bytes: u64) {
        *self.0[kind as usize].entry(bytes).or_default() += 1;
    }

    /// Takes the smallest block for `bytes`, if there is one. As in the caches, it exceeds them by an eighth at most.
    pub fn serve(&mut self, kind: Kind, bytes: u64) -> bool {
        let blocks = &mut self.0[kind as usize];
        let Some((&size, count)) = blocks.range_mut(bytes..).next().filter(|(size, _)| **size - bytes <= bytes / 8)
        else {
            return false;
        };
        *count -= 1;
        if *count == 0 {
            blocks.remove(&size);
        }
        true
    }
}
