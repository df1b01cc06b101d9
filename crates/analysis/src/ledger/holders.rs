//! The holders of memory: bytes by name or by call site, and by another key, now and at the peak.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash};

use super::Block;
use syncedmem_trace::address_hash::AddressHasher;
use syncedmem_trace::event::Site;
use syncedmem_trace::kind::Kind;

/// The name or call site that memory is counted under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Holder {
    /// Objects of this name.
    Name(u32),
    /// Objects without a name, made by this call site.
    Site(Site),
}

/// Bytes and blocks of one holder, by [`Kind`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Bytes now.
    pub live: [u64; 3],
    /// Blocks now.
    pub blocks: [u64; 3],
    /// Bytes at the process's peak of that kind.
    pub at_peak: [u64; 3],
    /// Blocks at that peak.
    pub blocks_at_peak: [u64; 3],
    /// Number of the peak that `at_peak` belongs to, by kind. A holder whose blocks do not change has the same share at
    /// every later peak.
    peak: [u64; 3],
}

pub struct Holders<K> {
    shares: HashMap<K, Share, BuildHasherDefault<AddressHasher>>,
    /// Number of peaks so far, by kind.
    peaks: [u64; 3],
}

impl Share {
    /// Brings `at_peak` up to date. Called before a change to that kind.
    fn update_peak(&mut self, kind: Kind, peaks: u64) {
        let kind = kind as usize;
        if self.peak[kind] != peaks {
            (self.at_peak[kind], self.blocks_at_peak[kind], self.peak[kind]) =
                (self.live[kind], self.blocks[kind], peaks);
        }
    }
}

impl<K: Copy + Eq + Hash> Holders<K> {
    pub const fn new() -> Holders<K> {
        Holders { shares: HashMap::with_hasher(BuildHasherDefault::new()), peaks: [0; 3] }
    }

    /// Counts a block; `false` if there is no memory for that.
    pub fn add(&mut self, holder: K, block: Block) -> bool {
        if self.shares.try_reserve(1).is_err() {
            return false;
        }
        let peaks = self.peaks[block.kind as usize];
        let share = self.shares.entry(holder).or_default();
        share.update_peak(block.kind, peaks);
        share.live[block.kind as usize] += block.bytes;
        share.blocks[block.kind as usize] += 1;
        true
    }

    /// Removes a block.
    pub fn subtract(&mut self, holder: K, block: Block) {
        let peaks = self.peaks[block.kind as usize];
        let Some(share) = self.shares.get_mut(&holder) else { return };
        share.update_peak(block.kind, peaks);
        let (live, blocks) = (&mut share.live[block.kind as usize], &mut share.blocks[block.kind as usize]);
        (*live, *blocks) = (live.saturating_sub(block.bytes), blocks.saturating_sub(1));
    }

    /// Moves a block from one holder to another, at the last peak too if it existed then; `None` is no holder. `false` if there is
    /// no memory for that.
    pub fn pass_on(&mut self, before: Option<K>, after: Option<K>, block: Block) -> bool {
        let (kind, was_at_peak) = (block.kind as usize, block.peaks_before < self.peaks[block.kind as usize]);
        if let Some(before) = before {
            self.subtract(before, block);
            if let Some(share) = self.shares.get_mut(&before).filter(|_| was_at_peak) {
                share.at_peak[kind] = share.at_peak[kind].saturating_sub(block.bytes);
                share.blocks_at_peak[kind] = share.blocks_at_peak[kind].saturating_sub(1);
            }
        }
        let Some(after) = after else { return true };
        let is_counted = self.add(after, block);
        if let Some(share) = self.shares.get_mut(&after).filter(|_| is_counted && was_at_peak) {
            share.at_peak[kind] += block.bytes;
            share.blocks_at_peak[kind] += 1;
        }
        is_counted
    }

    /// Number of peaks of a kind so far.
    pub fn peaks(&self, kind: Kind) -> u64 {
        self.peaks[kind as usize]
    }

    /// Notes that the process holds more of a kind than ever before.
    pub fn note_peak(&mut self, kind: Kind) {
        self.peaks[kind as usize] += 1;
    }

    /// All holders, each with its share now and at the peaks.
    pub fn iter(&self) -> impl Iterator<Item = (K, Share)> {
        self.shares.iter().map(|(&holder, &share)| {
            let mut share = share;
            Kind::ALL.into_iter().for_each(|kind| share.update_peak(kind, self.peaks[kind as usize]));
            (holder, share)
        })
    }
}
