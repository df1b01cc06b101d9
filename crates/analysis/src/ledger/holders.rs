//! Bytes by name or call site, or by another key, now and at the peak.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash};

use super::Block;
use syncedmem_trace::address_hash::AddressHasher;
use syncedmem_trace::event::Site;
use syncedmem_trace::kind::Kind;

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
    /// Number of `at_peak`'s peak, by kind. A holder whose blocks do not change has the same share at every later peak.
    peak: [u64; 3],
}

/// A holder's share, in the [`Holders`] that it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(u32);

pub struct Holders<K> {
    shares: Vec<(K, Share)>,
    places: HashMap<K, Place, BuildHasherDefault<AddressHasher>>,
    /// The last look-up: blocks of one holder come one behind the other.
    last: Option<(K, Place)>,
    /// Number of peaks so far, by kind.
    peaks: [u64; 3],
}

impl Share {
    /// Brings `at_peak` up to date. Called before a change to that kind.
    #[inline]
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
        let places = HashMap::with_hasher(BuildHasherDefault::new());
        Holders { shares: Vec::new(), places, last: None, peaks: [0; 3] }
    }

    /// A new holder's share is empty. `None` if there is no memory for it.
    #[inline]
    pub fn place(&mut self, holder: K) -> Option<Place> {
        match self.last {
            Some((last, place)) if last == holder => Some(place),
            _ => self.find_or_add(holder),
        }
    }

    fn find_or_add(&mut self, holder: K) -> Option<Place> {
        let place = match self.places.get(&holder) {
            Some(&place) => place,
            None => {
                let place = Place(u32::try_from(self.shares.len()).ok()?);
                self.places.try_reserve(1).ok()?;
                self.shares.try_reserve(1).ok()?;
                self.shares.push((holder, Share::default()));
                self.places.insert(holder, place);
                place
            }
        };
        self.last = Some((holder, place));
        Some(place)
    }

    #[inline]
    pub fn add(&mut self, place: Place, block: Block) {
        self.change(place, block.kind, |live, blocks| (live + block.bytes, blocks + 1));
    }

    #[inline]
    pub fn subtract(&mut self, place: Place, block: Block) {
        self.change(place, block.kind, |live, blocks| (live.saturating_sub(block.bytes), blocks.saturating_sub(1)));
    }

    #[inline]
    fn change(&mut self, Place(place): Place, kind: Kind, to: impl FnOnce(u64, u64) -> (u64, u64)) {
        let Some((_, share)) = self.shares.get_mut(place as usize) else { return };
        share.update_peak(kind, self.peaks[kind as usize]);
        let (live, blocks) = (&mut share.live[kind as usize], &mut share.blocks[kind as usize]);
        (*live, *blocks) = to(*live, *blocks);
    }

    /// Moves a block from one holder to another, at the last peak too if it existed then; `None` is no holder.
    pub fn pass_on(&mut self, before: Option<Place>, after: Option<Place>, block: Block) {
        let (kind, was_at_peak) = (block.kind as usize, block.peaks_before < self.peaks[block.kind as usize]);
        if let Some(before) = before {
            self.subtract(before, block);
            if let Some((_, share)) = self.shares.get_mut(before.0 as usize).filter(|_| was_at_peak) {
                share.at_peak[kind] = share.at_peak[kind].saturating_sub(block.bytes);
                share.blocks_at_peak[kind] = share.blocks_at_peak[kind].saturating_sub(1);
            }
        }
        let Some(after) = after else { return };
        self.add(after, block);
        if let Some((_, share)) = self.shares.get_mut(after.0 as usize).filter(|_| was_at_peak) {
            share.at_peak[kind] += block.bytes;
            share.blocks_at_peak[kind] += 1;
        }
    }

    #[inline]
    pub fn peaks(&self, kind: Kind) -> u64 {
        self.peaks[kind as usize]
    }

    /// The process holds more of the kind than ever before.
    #[inline]
    pub fn note_peak(&mut self, kind: Kind) {
        self.peaks[kind as usize] += 1;
    }

    /// All holders, each with its share now and at the peaks.
    pub fn iter(&self) -> impl Iterator<Item = (K, Share)> {
        self.shares.iter().map(|&(holder, mut share)| {
            Kind::ALL.into_iter().for_each(|kind| share.update_peak(kind, self.peaks[kind as usize]));
            (holder, share)
        })
    }
}
