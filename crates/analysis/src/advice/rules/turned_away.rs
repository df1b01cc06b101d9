//! `turned-away`: blocks that a budget turned away, and the allocations that they could have served.

use syncedmem_trace::kind::Kind;

/// Blocks that were turned away and have not yet been counted for an allocation.
#[derive(Debug)]
pub struct TurnedAway {
    /// By kind: (size in bytes, number of blocks), ascending.
    blocks: [Vec<(u64, u64)>; 3],
}

impl TurnedAway {
    /// No blocks.
    pub const NEW: TurnedAway = TurnedAway { blocks: [const { Vec::new() }; 3] };

    /// Adds a block; `false` if there is no memory to remember it.
    pub fn add(&mut self, kind: Kind, bytes: u64) -> bool {
        let blocks = &mut self.blocks[kind as usize];
        match blocks.binary_search_by_key(&bytes, |block| block.0) {
            Ok(place) => blocks[place].1 += 1,
            Err(place) => {
                if blocks.try_reserve(1).is_err() {
                    return false;
                }
                blocks.insert(place, (bytes, 1));
            }
        }
        true
    }

    /// Whether there is a block for `bytes`; takes the smallest one. As in the caches, a block serves if it exceeds the
    /// request by an eighth at most.
    pub fn serve(&mut self, kind: Kind, bytes: u64) -> bool {
        let blocks = &mut self.blocks[kind as usize];
        let place = blocks.partition_point(|block| block.0 < bytes);
        let Some(block) = blocks.get_mut(place).filter(|block| block.0 - bytes <= bytes / 8) else { return false };
        block.1 -= 1;
        if block.1 == 0 {
            blocks.remove(place);
        }
        true
    }
}
