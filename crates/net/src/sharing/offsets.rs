//! The offsets of blocks in an arena. The largest block is placed first, each in the smallest gap between the blocks that live at the same
//! time ("greedy by size" of arXiv 2001.03288). Pure.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

pub struct Block<'a> {
    pub bytes: usize,
    /// First and last step of each time in which the block is used.
    pub lives: &'a [(usize, usize)],
}

impl Block<'_> {
    /// The first and the last step of all lives.
    fn steps(&self) -> (usize, usize) {
        let (first, last) = (self.lives.iter().map(|life| life.0).min(), self.lives.iter().map(|life| life.1).max());
        (first.unwrap_or(0), last.unwrap_or(0))
    }

    fn meets(&self, other: &Block<'_>) -> bool {
        let overlap = |(first, last): (usize, usize)| other.lives.iter().any(|&(from, to)| first <= to && from <= last);
        self.lives.iter().any(|&life| overlap(life))
    }
}

/// How many blocks are placed so. If a net has more, the smaller ones are placed above these in the order of their steps: to compare each with
/// all others would take seconds in a net of 10,000 layers.
const MOST: usize = 2048;

/// A placed block. The first and last steps alone rule out most blocks that do not meet.
struct Placed {
    start: usize,
    end: usize,
    first: usize,
    last: usize,
    at: usize,
}

/// An offset for each block.
pub fn offsets(blocks: &[Block<'_>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..blocks.len()).collect();
    // The sort is stable: of blocks of one size, the first in the net comes first.
    order.sort_by_key(|&at| Reverse(blocks[at].bytes));
    let mut offsets = vec![0usize; blocks.len()];
    // Sorted by their offsets.
    let mut placed: Vec<Placed> = Vec::with_capacity(order.len().min(MOST));
    let mut whole = 0;
    for &at in order.iter().take(MOST) {
        let block = &blocks[at];
        let (first, last) = block.steps();
        let (mut end, mut best) = (0usize, None);
        let overlaps = |other: &&Placed| other.first <= last && first <= other.last && blocks[other.at].meets(block);
        for other in placed.iter().filter(overlaps) {
            let gap = other.start.saturating_sub(end);
            if gap >= block.bytes && best.is_none_or(|(smallest, _)| gap < smallest) {
                best = Some((gap, end));
            }
            end = end.max(other.end);
        }
        let start = best.map_or(end, |(_, start)| start);
        offsets[at] = start;
        whole = whole.max(start + block.bytes);
        let new = Placed { start, end: start + block.bytes, first, last, at };
        placed.insert(placed.partition_point(|other| other.start <= start), new);
    }
    if let Some(rest) = order.get(MOST..) {
        place_by_steps(blocks, rest, whole, &mut offsets);
    }
    offsets
}

/// Places blocks at `above` and beyond: each takes the first gap that is free from its first step to its last.
fn place_by_steps(blocks: &[Block<'_>], rest: &[usize], above: usize, offsets: &mut [usize]) {
    let first = |at: usize| blocks[at].steps().0;
    let last = |at: usize| blocks[at].steps().1;
    let mut order = rest.to_vec();
    order.sort_by_key(|&at| first(at));
    // The blocks that are in use, by their last step.
    let mut alive: BinaryHeap<Reverse<(usize, usize)>> = BinaryHeap::new();
    // The bytes of each free gap by its start; all beyond `end` is free, too.
    let (mut free, mut end): (BTreeMap<usize, usize>, usize) = (BTreeMap::new(), above);
    for at in order {
        while let Some(&Reverse((_, ended))) = alive.peek().filter(|Reverse((step, _))| *step < first(at)) {
            alive.pop();
            let (mut start, mut bytes) = (offsets[ended], blocks[ended].bytes);
            if let Some((&before, &more)) =
                free.range(..start).next_back().filter(|(before, more)| *before + *more == start)
            {
                free.remove(&before);
                (start, bytes) = (before, bytes + more);
            }
            if let Some(more) = free.remove(&(start + bytes)) {
                bytes += more;
            }
            free.insert(start, bytes);
        }
        let wanted = blocks[at].bytes;
        let found = free.iter().find(|(_, bytes)| **bytes >= wanted).map(|(start, bytes)| (*start, *bytes));
        match found {
            Some((start, bytes)) => {
                free.remove(&start);
                if bytes > wanted {
                    free.insert(start + wanted, bytes - wanted);
                }
                offsets[at] = start;
            }
            None => {
                offsets[at] = end;
                end += wanted;
            }
        }
        alive.push(Reverse((last(at), at)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(bytes: usize, lives: &[(usize, usize)]) -> Block<'static> {
        Block { bytes, lives: lives.to_vec().leak() }
    }

    #[test]
    fn blocks_that_live_at_different_times_share_an_offset() {
        assert_eq!(offsets(&[block(10, &[(0, 1)]), block(20, &[(1, 2)]), block(20, &[(3, 4)])]), [20, 0, 0]);
    }

    #[test]
    fn a_block_with_two_lives_meets_those_of_both() {
        assert_eq!(offsets(&[block(30, &[(1, 1)]), block(20, &[(5, 5)]), block(10, &[(1, 1), (5, 5)])]), [0, 0, 30]);
    }

    #[test]
    fn a_block_takes_the_smallest_gap() {
        // At step 5 there are two gaps: of 60 bytes, and of 45.
        let blocks = [(100, 9), (60, 1), (50, 9), (45, 1), (40, 9)].map(|(bytes, last)| block(bytes, &[(0, last)]));
        let mut blocks = Vec::from(blocks);
        blocks.push(block(38, &[(5, 9)]));
        let offsets = offsets(&blocks);
        assert_eq!(offsets[5], offsets[3]);
    }

    #[test]
    fn blocks_that_live_at_the_same_time_never_overlap_even_in_a_net_of_a_thousand_layers() {
        // A training net of 1000 layers: activations until Backward, gradients for two steps, and some blocks with two lives.
        let layers = 1000;
        let mut blocks = Vec::new();
        for layer in 0..layers {
            let (back, bytes) = (2 * layers - 1 - layer, 256 * (1 + layer * 7919 % 13));
            blocks.push(block(bytes, &[(layer, back)]));
            blocks.push(block(bytes, &[(back - 1, back)]));
            blocks.push(block(bytes / 2, &[(layer, layer), (back, back)]));
        }
        let offsets = offsets(&blocks);
        let mut ends: Vec<(usize, usize)> = Vec::new();
        for step in 0..2 * layers {
            ends.clear();
            let alive = blocks
                .iter()
                .zip(&offsets)
                .filter(|(block, _)| block.lives.iter().any(|&(from, to)| from <= step && step <= to));
            ends.extend(alive.map(|(block, &at)| (at, at + block.bytes)));
            ends.sort_unstable();
            assert!(ends.windows(2).all(|pair| pair[0].1 <= pair[1].0), "step {step}");
        }
        let whole = offsets.iter().zip(&blocks).map(|(at, block)| at + block.bytes).max().unwrap();
        let alive_at_once: usize = blocks.iter().step_by(3).map(|block| block.bytes).sum();
        assert!(whole < alive_at_once * 2, "{whole} of {alive_at_once}");
    }
}
