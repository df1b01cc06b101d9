//! A device, and its pool for stream-ordered allocation.

use crate::abi::Handle;
use crate::space::Space;

pub struct Device {
    /// Its number in the machine, before `CUDA_VISIBLE_DEVICES`.
    pub number: usize,
    pub total: usize,
    pub used: usize,
    /// The most that was used.
    pub peak: usize,
    /// Reserved with the first allocation.
    pub space: Option<Space>,
    /// Ranges that were too short when the memory grew.
    pub former_spaces: Vec<Space>,
    pub primary: Handle,
    /// Retains of the primary context.
    pub retained: usize,
    pub pool: Pool,
}

/// The default pool of a device. `kept` is free memory that it has not given back.
pub struct Pool {
    pub handle: Handle,
    pub kept: usize,
    pub used: usize,
    pub threshold: u64,
}

impl Pool {
    pub fn new(handle: Handle) -> Pool {
        Pool { handle, kept: 0, used: 0, threshold: 0 }
    }

    /// All but the handle.
    pub fn forget(&mut self) {
        *self = Pool { kept: 0, used: 0, threshold: 0, ..*self };
    }

    pub fn allocated(&mut self, bytes: usize) {
        self.kept = self.kept.saturating_sub(bytes);
        self.used += bytes;
    }

    /// An allocation from elsewhere needs the memory.
    pub fn give_up(&mut self, available: usize) {
        self.kept = self.kept.min(available);
    }

    /// Keeps what came back as far as the release threshold allows.
    pub fn freed(&mut self, bytes: usize) {
        self.used = self.used.saturating_sub(bytes);
        self.kept += bytes;
        self.trim(usize::try_from(self.threshold).unwrap_or(usize::MAX));
    }

    pub fn trim(&mut self, least: usize) {
        self.kept = self.kept.min(least.saturating_sub(self.used));
    }
}
