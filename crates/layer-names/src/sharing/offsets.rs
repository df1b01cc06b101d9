//! Where in an arena each block lies: the largest first, each in the smallest gap between those that live at the same time
//! ("greedy by size" of arXiv 2001.03288).

pub struct Block {
    pub bytes: usize,
    /// First and last step of each of its lives.
    pub lives: Vec<(usize, usize)>,
}

impl Block {
    fn meets(&self, other: &Block) -> bool {
        let overlap = |(first, last): (usize, usize)| other.lives.iter().any(|&(from, to)| first <= to && from <= last);
        self.lives.iter().any(|&life| overlap(life))
    }
}

/// An offset for each block.
pub fn offsets(blocks: &[Block]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..blocks.len()).collect();
    // A stable sort: of equal ones the first in the net comes first.
    order.sort_by_key(|&at| std::cmp::Reverse(blocks[at].bytes));
    let mut offsets = vec![0; blocks.len()];
    let mut placed: Vec<usize> = Vec::new();
    for at in order {
        let block = &blocks[at];
        let mut taken: Vec<(usize, usize)> = placed
            .iter()
            .filter(|&&other| blocks[other].meets(block))
            .map(|&other| (offsets[other], offsets[other] + blocks[other].bytes))
            .collect();
        taken.sort_unstable();
        let (mut end, mut best) = (0, None);
        for (start, after) in taken {
            let gap = start.saturating_sub(end);
            if gap >= block.bytes && best.is_none_or(|(smallest, _)| gap < smallest) {
                best = Some((gap, end));
            }
            end = end.max(after);
        }
        offsets[at] = best.map_or(end, |(_, start)| start);
        placed.push(at);
    }
    offsets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(bytes: usize, lives: &[(usize, usize)]) -> Block {
        Block { bytes, lives: lives.to_vec() }
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
}
