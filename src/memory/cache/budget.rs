//! The bounds on idle memory: a setting, or a default that leaves memory to others. Moreover, idle memory and memory in use together stay
//! within the peak of use plus a small slack.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use syncedmem_core::kind::Kind;

use crate::memory::limit::memory;
use crate::settings;

/// The most idle bytes of the host. The default is a quarter of the process's memory, or a sixteenth for page-locked memory, which no
/// other process can use.
pub fn host(kind: Kind) -> u64 {
    let share = if kind == Kind::Pageable { 4 } else { 16 };
    settings::POOL_BUDGET.get().unwrap_or_else(|| memory() / share)
}

/// The most idle bytes of a device. The default is a quarter of the `available` bytes (free or idle), and at most an eighth of all bytes,
/// because other libraries and processes cannot use idle memory.
pub fn device(available: u64, total: u64) -> u64 {
    settings::POOL_BUDGET.get().unwrap_or_else(|| (available / 4).min(total / 8))
}

/// The most bytes in use at once.
pub struct Peak(AtomicU64);

impl Peak {
    pub const fn new() -> Peak {
        Peak(AtomicU64::new(0))
    }

    /// Raises the peak to `in_use`, and returns how many bytes may lie idle beside these.
    pub fn leaves(&self, in_use: u64) -> u64 {
        (self.0.fetch_max(in_use, Relaxed).max(in_use) + SLACK).saturating_sub(in_use)
    }

    pub fn part(&self, parts: u64) -> u64 {
        self.0.load(Relaxed) / parts
    }
}

/// Bytes by which idle memory and memory in use together may exceed the peak. At 2 MiB, programs with random block sizes used 3 % more
/// memory.
pub const SLACK: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_in_use_once_bounds_what_may_lie_idle() {
        let peak = Peak::new();
        assert_eq!(peak.leaves(160 << 20), 1 << 20, "slack alone while all is in use");
        assert_eq!(peak.leaves(100 << 20), 61 << 20);
        assert_eq!(peak.leaves(0), 161 << 20);
        assert_eq!(peak.leaves(170 << 20), 1 << 20, "a new peak");
    }

    #[test]
    fn a_nearly_full_device_keeps_little() {
        assert_eq!(device(8 << 30, 8 << 30), 1 << 30);
        assert_eq!(device(400 << 20, 8 << 30), 100 << 20);
        assert_eq!(device(0, 8 << 30), 0);
    }
}
