//! What one more item of a batch costs, and which batch fits.

use syncedmem_core::kind::Kind;

use super::facts::{Batch, Process};
use super::sharing::Saving;

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

/// A bound of what a batch may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    pub bytes: u64,
    /// Whose memory it is, in words.
    pub whose: &'static str,
    /// Bytes at the peak that it counts; `None`: those of `Growth`.
    pub in_use: Option<u64>,
}

/// An item that costs a smaller part of all that is in use is none: it is of a small net beside the one that counts, or the number is no
/// batch.
const LEAST_PART: u64 = 1 << 16;

/// The nets by the size of their batch, the one that holds most first. If one of them uses a device, the device's memory counts, which is
/// scarcer; else the process's, blobs or not.
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

    /// The largest batch that fits, if all else stays as it was.
    pub fn fitting(&self, room: Room) -> Option<u64> {
        let left = room.bytes.checked_sub(self.fixed(room))?;
        let items = u128::from(left) * u128::from(self.items) / u128::from(self.grows);
        u64::try_from(items).ok().filter(|&items| items > 0)
    }

    /// As it would be with less memory.
    pub fn with(self, saving: Saving) -> Growth {
        let less = saving.each.saturating_mul(self.items);
        Growth {
            one_more: self.one_more.saturating_sub(saving.each),
            grows: self.grows.saturating_sub(less).max(1),
            in_use: self.in_use.saturating_sub(saving.bytes),
            ..self
        }
    }

    pub fn fixed(&self, room: Room) -> u64 {
        room.in_use.unwrap_or(self.in_use).saturating_sub(self.grows)
    }

    /// The limit of the process's that the smallest batch fits in. A device's memory is not known.
    pub fn narrowest(&self, process: &Process) -> Option<Room> {
        let Process { about, ending, account, .. } = process;
        let blobs = [Kind::Pageable, Kind::Pinned].map(|kind| account.memory(kind).peak).iter().sum();
        let rooms = [
            ("this machine's ", about.limit("machine"), None),
            ("the control group's ", about.limit("control group"), None),
            ("ulimit -d's ", about.limit("data"), None),
            ("ulimit -v's ", about.limit("address space"), ending.address_space_peak),
            ("SYNCEDMEM_HOST_LIMIT's ", about.amount("SYNCEDMEM_HOST_LIMIT"), Some(blobs)),
        ];
        let rooms = rooms.into_iter().filter_map(|(whose, bytes, in_use)| Some(Room { bytes: bytes?, whose, in_use }));
        rooms.filter(|_| !self.is_device).min_by_key(|&room| self.fitting(room).unwrap_or(0))
    }
}
