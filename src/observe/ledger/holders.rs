//! Whose memory it is: bytes by name or by call site, now and when there was most.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::Block;
use crate::observe::event::Site;
use crate::platform::address_hash::AddressHasher;
use crate::state::kind::Kind;

/// Whom memory is counted as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Holder {
    /// Objects of this name.
    Name(u32),
    /// Objects without a name that this call site made.
    Site(Site),
}

/// What a holder has. Bytes and objects by [`Kind`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Bytes now.
    pub live: [u64; 3],
    /// Blocks now.
    pub blocks: [u64; 3],
    /// Bytes when there was most of that kind in the process.
    pub at_peak: [u64; 3],
    /// Blocks then.
    pub blocks_at_peak: [u64; 3],
    /// The last peak of each kind that `at_peak` is of. While nothing of the holder's changes, what it has now is what it had.
    peak: [u64; 3],
}

/// Every holder.
pub struct Holders {
    shares: HashMap<Holder, Share, BuildHasherDefault<AddressHasher>>,
    /// How many peaks there were so far.
    peaks: [u64; 3],
}

impl Share {
    /// Called before something of that kind changes.
    fn settle(&mut self, kind: Kind, peaks: u64) {
        let kind = kind as usize;
        if self.peak[kind] != peaks {
            (self.at_peak[kind], self.blocks_at_peak[kind], self.peak[kind]) =
                (self.live[kind], self.blocks[kind], peaks);
        }
    }
}

impl Holders {
    /// Nobody holds anything.
    #[cfg(not(loom))]
    pub const fn new() -> Holders {
        Holders { shares: HashMap::with_hasher(BuildHasherDefault::new()), peaks: [0; 3] }
    }

    /// Nobody holds anything.
    #[cfg(loom)]
    pub fn new() -> Holders {
        Holders { shares: HashMap::default(), peaks: [0; 3] }
    }

    /// Counts a block; `false` if there is no memory for that.
    pub fn add(&mut self, holder: Holder, block: Block) -> bool {
        if self.shares.try_reserve(1).is_err() {
            return false;
        }
        let peaks = self.peaks[block.kind as usize];
        let share = self.shares.entry(holder).or_default();
        share.settle(block.kind, peaks);
        share.live[block.kind as usize] += block.bytes;
        share.blocks[block.kind as usize] += 1;
        true
    }

    /// Counts it no more.
    pub fn subtract(&mut self, holder: Holder, block: Block) {
        let peaks = self.peaks[block.kind as usize];
        let Some(share) = self.shares.get_mut(&holder) else { return };
        share.settle(block.kind, peaks);
        let (live, blocks) = (&mut share.live[block.kind as usize], &mut share.blocks[block.kind as usize]);
        (*live, *blocks) = (live.saturating_sub(block.bytes), blocks.saturating_sub(1));
    }

    /// Counts a block as another holder's, at the last peak too if it was there; `false` if there is no memory for that.
    pub fn pass_on(&mut self, before: Holder, after: Holder, block: Block) -> bool {
        self.subtract(before, block);
        let is_counted = self.add(after, block);
        let kind = block.kind as usize;
        if is_counted && block.peaks_before < self.peaks[kind] {
            if let Some(share) = self.shares.get_mut(&before) {
                share.at_peak[kind] = share.at_peak[kind].saturating_sub(block.bytes);
                share.blocks_at_peak[kind] = share.blocks_at_peak[kind].saturating_sub(1);
            }
            if let Some(share) = self.shares.get_mut(&after) {
                share.at_peak[kind] += block.bytes;
                share.blocks_at_peak[kind] += 1;
            }
        }
        is_counted
    }

    /// How many peaks of a kind there were so far.
    pub fn peaks(&self, kind: Kind) -> u64 {
        self.peaks[kind as usize]
    }

    /// There is more of a kind in the process now than ever before.
    pub fn note_peak(&mut self, kind: Kind) {
        self.peaks[kind as usize] += 1;
    }

    /// Each with what it has now and had at the peaks.
    pub fn iter(&self) -> impl Iterator<Item = (Holder, Share)> {
        self.shares.iter().map(|(&holder, &share)| {
            let mut share = share;
            Kind::ALL.into_iter().for_each(|kind| share.settle(kind, self.peaks[kind as usize]));
            (holder, share)
        })
    }
}
