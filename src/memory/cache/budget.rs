//! How much memory may lie idle or be page-locked: a setting, or a default that leaves room for others.
//!
//! Idle and used memory of a kind together are also bounded by the peak of use and a small slack.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use syncedmem_core::kind::Kind;

use crate::platform::limits;
use crate::settings;

/// The most idle bytes: by default a quarter of the process's memory, or a sixteenth if page-locked: no other process
/// can use that.
pub fn host(kind: Kind) -> u64 {
    let share = if kind == Kind::Pageable { 4 } else { 16 };
    settings::POOL_BUDGET.get().unwrap_or_else(|| memory() / share)
}

/// The most idle bytes of a device: by default a quarter of the `available` ones, free or idle, and at most an eighth
/// of all: other libraries and processes cannot ask for idle memory.
pub fn device(available: u64, total: u64) -> u64 {
    settings::POOL_BUDGET.get().unwrap_or_else(|| (available / 4).min(total / 8))
}

/// The most page-locked bytes: by default half of the process's memory, because the system cannot move it.
pub fn pinned_limit() -> u64 {
    settings::PINNED_LIMIT.get().unwrap_or_else(|| memory() / 2)
}

/// Bytes of the machine, or of the control group.
fn memory() -> u64 {
    static MEMORY: AtomicU64 = AtomicU64::new(0);
    let known = MEMORY.load(Relaxed);
    if known != 0 {
        return known;
    }
    let machine = limits::system(libc::_SC_PHYS_PAGES).saturating_mul(limits::system(libc::_SC_PAGESIZE)) as u64;
    let memory = limits::cgroup().map_or(machine, |group| group.get().min(machine)).max(1);
    MEMORY.store(memory, Relaxed);
    memory
}

/// Page-locked bytes: in use or idle.
static PINNED: AtomicU64 = AtomicU64::new(0);

/// Called before `bytes` are page-locked; `false`: they would exceed the limit.
pub fn admit_pinned(bytes: usize) -> bool {
    let more = |now: u64| now.checked_add(bytes as u64).filter(|&sum| sum <= pinned_limit());
    PINNED.fetch_update(Relaxed, Relaxed, more).is_ok()
}

/// Whether `bytes` would be admitted without `idle` bytes.
pub fn could_admit_pinned(bytes: usize, idle: u64) -> bool {
    let in_use = PINNED.load(Relaxed).saturating_sub(idle);
    in_use.checked_add(bytes as u64).is_some_and(|sum| sum <= pinned_limit())
}

pub fn withdraw_pinned(bytes: usize) {
    let less = |now: u64| Some(now.saturating_sub(bytes as u64));
    let _ = PINNED.fetch_update(Relaxed, Relaxed, less);
}

/// Bytes in use at once.
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

/// Bytes by which idle and used memory together may exceed the peak. With 2 MiB programs of random sizes needed 3 % more memory.
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

    #[test]
    fn page_locked_memory_is_admitted_up_to_the_limit() {
        let limit = pinned_limit() as usize;
        assert!(limit > 0);
        assert!(admit_pinned(limit - 1000));
        assert!(!admit_pinned(1001));
        assert!(admit_pinned(1000));
        withdraw_pinned(limit);
        assert!(!admit_pinned(usize::MAX));
    }
}
