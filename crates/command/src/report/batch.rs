//! What one more item of a batch costs, and which batch fits.

use syncedmem_trace::kind::Kind;

use super::facts::{Batch, Process};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    pub items: u64,
    /// Bytes that one more item costs, rounded.
    pub one_more: u64,
    pub is_device: bool,
    /// Bytes at the peak that grow with this batch.
    grows: u64,
    /// Bytes at the peak of all kinds that share the room.
    in_use: u64,
}

/// The nets by the size of their batch, the one that holds most first. If one of them uses a device, the device's memory counts, which is
/// scarcer; else the process's, blobs or not.
pub fn growth(process: &Process) -> Vec<Growth> {
    let is_device = process.batches.iter().any(|batch| batch.at_peak[Kind::Device as usize] > 0);
    let kinds: &[Kind] = if is_device { &[Kind::Device] } else { &[Kind::Pageable, Kind::Pinned] };
    let blobs: u64 = kinds.iter().map(|&kind| process.summary.account.memory(kind).peak).sum();
    let resident = process.ending.resident_peak.filter(|_| !is_device);
    let in_use = resident.map_or(blobs, |resident| resident.max(blobs));
    let growth = |batch: &Batch| {
        let grows = kinds.iter().map(|&kind| batch.at_peak[kind as usize]).sum();
        Growth { items: batch.items, one_more: (grows + batch.items / 2) / batch.items, is_device, grows, in_use }
    };
    let mut growth: Vec<Growth> = process.batches.iter().map(growth).filter(|growth| growth.grows > 0).collect();
    growth.sort_by_key(|growth| std::cmp::Reverse((growth.grows, growth.items)));
    growth
}

impl Growth {
    /// The largest batch that fits in so many bytes, if all else stays as it was.
    pub fn fitting(&self, bytes: u64) -> Option<u64> {
        let items = u128::from(bytes.checked_sub(self.fixed())?) * u128::from(self.items) / u128::from(self.grows);
        u64::try_from(items).ok().filter(|&items| items > 0)
    }

    pub fn fixed(&self) -> u64 {
        self.in_use - self.grows
    }
}
