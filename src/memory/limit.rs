//! The limits on host memory: that of all objects (`SYNCEDMEM_HOST_LIMIT`), and that of page-locked memory
//! (`SYNCEDMEM_PINNED_LIMIT`). Bytes are counted before the allocation, and uncounted if it fails.

use std::sync::atomic::{AtomicU64, Ordering};

use super::malloc::SMALL;
use crate::platform::limits;
use crate::settings;
use crate::state::flags::{self, ACCOUNT};

struct Count(AtomicU64);

impl Count {
    /// `false`: the sum would exceed `limit`.
    fn admit(&self, bytes: usize, limit: u64) -> bool {
        let more = |now: u64| now.checked_add(bytes as u64).filter(|&sum| sum <= limit);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Saturates: a block of an inlined original, or from before the account or the limit, was never counted.
    fn withdraw(&self, bytes: usize) {
        let less = |now: u64| Some(now.saturating_sub(bytes as u64));
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

/// Bytes that objects hold. With a limit: of all host memory. Without one: of pageable blocks of more than [`SMALL`] bytes.
static HELD: Count = Count(AtomicU64::new(0));

/// Bytes of pageable blocks of up to [`SMALL`] bytes, allocated without a limit since the account began.
static SMALL_BLOCKS: Count = Count(AtomicU64::new(0));

/// Page-locked bytes, in use or idle.
static PINNED: Count = Count(AtomicU64::new(0));

pub fn held() -> u64 {
    HELD.0.load(Ordering::Relaxed)
}

/// The bytes that [`held`] lacks, while there is an account.
pub fn held_in_small_blocks() -> u64 {
    if flags::has(ACCOUNT) { SMALL_BLOCKS.0.load(Ordering::Relaxed) } else { 0 }
}

/// Called when the flag of the account is set. Blocks that were counted before may have been freed uncounted since.
pub fn begin_account() {
    // Release: a thread that counts a block after this sees the flag, also when it frees the block.
    SMALL_BLOCKS.0.store(0, Ordering::Release);
}

/// Called before the allocation. The error is the limit that `bytes` would exceed.
pub fn admit(bytes: usize) -> Result<(), u64> {
    let Some(limit) = settings::host_limit() else { return Ok(()) };
    if HELD.admit(bytes, limit) { Ok(()) } else { Err(limit) }
}

/// Undoes an [`admit`] whose allocation failed, or that of a page-locked block, when it is freed.
pub fn withdraw(bytes: usize) {
    if settings::host_limit().is_some() {
        HELD.withdraw(bytes);
    }
}

/// Counts a pageable block, which a limit has admitted.
#[inline]
pub fn added(bytes: usize) {
    if settings::host_limit().is_some() {
        return;
    }
    if bytes > SMALL {
        HELD.0.fetch_add(bytes as u64, Ordering::Relaxed);
    } else if flags::has(ACCOUNT) {
        // Without an account small blocks are not counted: it would cost more than to allocate them.
        SMALL_BLOCKS.0.fetch_add(bytes as u64, Ordering::Acquire);
    }
}

/// Uncounts a pageable block.
#[inline]
pub fn removed(bytes: usize) {
    if bytes > SMALL || settings::host_limit().is_some() {
        HELD.withdraw(bytes);
    } else if flags::has(ACCOUNT) {
        SMALL_BLOCKS.withdraw(bytes);
    }
}

/// The most page-locked bytes: by default half of the process's memory, because the system cannot move it.
pub fn pinned_limit() -> u64 {
    settings::PINNED_LIMIT.get().unwrap_or_else(|| memory() / 2)
}

/// Called before `bytes` are page-locked. `false`: they would exceed the limit.
pub fn admit_pinned(bytes: usize) -> bool {
    PINNED.admit(bytes, pinned_limit())
}

/// Whether [`admit_pinned`] would succeed if `idle` bytes were given back.
pub fn could_admit_pinned(bytes: usize, idle: u64) -> bool {
    let in_use = PINNED.0.load(Ordering::Relaxed).saturating_sub(idle);
    in_use.checked_add(bytes as u64).is_some_and(|sum| sum <= pinned_limit())
}

pub fn withdraw_pinned(bytes: usize) {
    PINNED.withdraw(bytes);
}

/// Bytes of the machine, or of the control group.
pub fn memory() -> u64 {
    static MEMORY: AtomicU64 = AtomicU64::new(0);
    let known = MEMORY.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    let machine = limits::system(libc::_SC_PHYS_PAGES).saturating_mul(limits::system(libc::_SC_PAGESIZE)) as u64;
    let memory = limits::cgroup().map_or(machine, |group| group.get().min(machine)).max(1);
    MEMORY.store(memory, Ordering::Relaxed);
    memory
}

#[cfg(test)]
mod tests {
    use super::*;

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
