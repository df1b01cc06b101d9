//! Sums of bytes by a key, such as a name or a call site, now and at the peak.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash};

use super::Block;
use syncedmem_core::address_hash::AddressHasher;
use syncedmem_core::kind::Kind;
use syncedmem_trace::event::Site;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Holder {
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
    /// The number of the peak that `at_peak` is about, by kind. While the blocks of a holder do not change, its share is the same
    /// at every later peak.
    peak: [u64; 3],
}

/// The place of a holder in its [`Holders`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index(usize);

pub struct Holders<K> {
    shares: Vec<(K, Share)>,
    places: HashMap<K, Index, BuildHasherDefault<AddressHasher>>,
    /// The last look-up: consecutive blocks often have the same holder.
    last: Option<(K, Index)>,
    /// Number of peaks, by kind.
    peaks: [u64; 3],
}

impl Share {
    /// Brings `at_peak` up to date. Called before each change to that kind.
    fn update_peak(&mut self, kind: Kind, peaks: u64) {
        let kind = kind as usize;
        if self.peak[kind] != peaks {
            (self.at_peak[kind], self.blocks_at_peak[kind], self.peak[kind]) =
                (self.live[kind], self.blocks[kind], peaks);
        }
    }
}

impl<K: Copy + Eq + Hash> Holders<K> {
    pub fn new() -> Holders<K> {
        Holders { shares: Vec::new(), places: HashMap::default(), last: None, peaks: [0; 3] }
    }

    /// Returns the place of a holder, which is added if it is new.
    pub fn place(&mut self, holder: K) -> Index {
        if let Some((_, place)) = self.last.filter(|&(last, _)| last == holder) {
            return place;
        }
        let place = *self.places.entry(holder).or_insert_with(|| {
            self.shares.push((holder, Share::default()));
            Index(self.shares.len() - 1)
        });
        self.last = Some((holder, place));
        place
    }

    pub fn add(&mut self, place: Index, block: Block) {
        self.change(place, block.kind, |live, blocks| (live + block.bytes, blocks + 1));
    }

    pub fn subtract(&mut self, place: Index, block: Block) {
        self.change(place, block.kind, |live, blocks| (live.saturating_sub(block.bytes), blocks.saturating_sub(1)));
    }

    fn change(&mut self, Index(place): Index, kind: Kind, to: impl FnOnce(u64, u64) -> (u64, u64)) {
        let (_, share) = &mut self.shares[place];
        share.update_peak(kind, self.peaks[kind as usize]);
        let (live, blocks) = (&mut share.live[kind as usize], &mut share.blocks[kind as usize]);
        (*live, *blocks) = to(*live, *blocks);
    }

    /// Moves a block from one holder to another, also at the last peak if the block existed then. `None` is no holder.
    pub fn pass_on(&mut self, before: Option<Index>, after: Option<Index>, block: Block) {
        let (kind, was_at_peak) = (block.kind as usize, block.peaks_before < self.peaks[block.kind as usize]);
        if let Some(before) = before {
            self.subtract(before, block);
            if was_at_peak {
                let (_, share) = &mut self.shares[before.0];
                share.at_peak[kind] = share.at_peak[kind].saturating_sub(block.bytes);
                share.blocks_at_peak[kind] = share.blocks_at_peak[kind].saturating_sub(1);
            }
        }
        if let Some(after) = after {
            self.add(after, block);
            if was_at_peak {
                let (_, share) = &mut self.shares[after.0];
                share.at_peak[kind] += block.bytes;
                share.blocks_at_peak[kind] += 1;
            }
        }
    }

    pub fn peaks(&self, kind: Kind) -> u64 {
        self.peaks[kind as usize]
    }

    /// Notes that the process holds more of the kind than ever before.
    pub fn note_peak(&mut self, kind: Kind) {
        self.peaks[kind as usize] += 1;
    }

    /// The holders and their shares.
    pub fn iter(&self) -> impl Iterator<Item = (K, Share)> {
        self.shares.iter().map(|&(holder, mut share)| {
            Kind::ALL.into_iter().for_each(|kind| share.update_peak(kind, self.peaks[kind as usize]));
            (holder, share)
        })
    }
}
