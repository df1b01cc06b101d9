//! The memory that one more item of a batch costs, and the largest batch that fits.

use syncedmem_core::kind::Kind;
use syncedmem_core::settings::HOST_LIMIT;

use super::facts::{Batch, Process};
use super::sharing::Saving;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    pub items: u64,
    /// Bytes that one more item costs, rounded.
    pub one_more: u64,
    pub is_device: bool,
    /// Bytes at the peak that grow with the batch.
    grows: u64,
    /// Bytes at the peak of all kinds that the same limit counts.
    in_use: u64,
}

/// A limit of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    pub bytes: u64,
    /// Whose limit it is, in words.
    pub whose: &'static str,
    /// Bytes at the peak that the limit counts; `None`: `in_use` of the `Growth`.
    pub in_use: Option<u64>,
}

/// An item that costs less than one part in this many is not an item of a batch: it belongs to a small second net, or the number
/// is something else.
const LEAST_PART: u64 = 1 << 16;

/// Returns the growth for each size of a batch, the one that holds most first. If a net uses a device, device memory counts, which
/// is scarcer; otherwise all memory of the process.
pub fn growth(process: &Process) -> Vec<Growth> {
    let is_device = process.batches.iter().any(|batch| batch.at_peak[Kind::Device as usize] > 0);
    let kinds: &[Kind] = if is_device { &[Kind::Device] } else { &[Kind::Pageable, Kind::Pinned] };
    let blobs: u64 = kinds.iter().map(|&kind| process.account.memory(kind).peak).sum();
    let resident = process.ending.resident_peak.filter(|_| !is_device);
    let in_use = resident.map_or(blobs, |resident| resident.max(blobs));
    let growth = |batch: &Batch| {
        let grows = kinds.iter().map(|&kind| batch.at_peak[kind as usize]).sum();
        Growth { items: batch.items, one_more: (grows + batch.items / 2) / batch.items, is_device, grows, in_use }
    };
    let mut growth: Vec<Growth> = process.batches.iter().map(growth).filter(Growth::is_plausible).collect();
    growth.sort_by_key(|growth| std::cmp::Reverse((growth.grows, growth.items)));
    growth
}

impl Growth {
    pub fn is_plausible(&self) -> bool {
        self.one_more > 0 && self.one_more >= self.in_use / LEAST_PART
    }

    /// The largest batch that fits, if everything else stays the same.
    pub fn fitting(&self, limit: Limit) -> Option<u64> {
        let left = limit.bytes.checked_sub(self.fixed(limit))?;
        let items = u128::from(left) * u128::from(self.items) / u128::from(self.grows);
        u64::try_from(items).ok().filter(|&items| items > 0)
    }

    /// The growth after a saving.
    pub fn with(self, saving: Saving) -> Growth {
        let less = saving.each.saturating_mul(self.items);
        Growth {
            one_more: self.one_more.saturating_sub(saving.each),
            grows: self.grows.saturating_sub(less).max(1),
            in_use: self.in_use.saturating_sub(saving.bytes),
            ..self
        }
    }

    pub fn fixed(&self, limit: Limit) -> u64 {
        limit.in_use.unwrap_or(self.in_use).saturating_sub(self.grows)
    }

    /// The limit of the process that allows the smallest batch. The memory of a device is not known.
    pub fn narrowest(&self, process: &Process) -> Option<Limit> {
        let Process { about, ending, account, .. } = process;
        let blobs = [Kind::Pageable, Kind::Pinned].map(|kind| account.memory(kind).peak).iter().sum();
        let limits = [
            ("this machine's ", about.limit("machine"), None),
            ("the control group's ", about.limit("control group"), None),
            ("ulimit -d's ", about.limit("data"), None),
            ("ulimit -v's ", about.limit("address space"), ending.address_space_peak),
            ("SYNCEDMEM_HOST_LIMIT's ", about.amount(&HOST_LIMIT), Some(blobs)),
        ];
        let limits =
            limits.into_iter().filter_map(|(whose, bytes, in_use)| Some(Limit { bytes: bytes?, whose, in_use }));
        limits.filter(|_| !self.is_device).min_by_key(|&limit| self.fitting(limit).unwrap_or(0))
    }
}
