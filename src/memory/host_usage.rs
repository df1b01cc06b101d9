//! Counts the pageable memory that objects hold.

use std::sync::atomic::{AtomicU64, Ordering};

use super::malloc::SMALL;
use crate::settings;
use crate::state::flags::{self, ACCOUNT};

static PAGEABLE: AtomicU64 = AtomicU64::new(0);

/// Bytes in blocks of up to [`SMALL`], without a limit, that were allocated since the account began.
static SMALL_BLOCKS: AtomicU64 = AtomicU64::new(0);

/// Bytes that objects hold; without a limit, in blocks of more than [`SMALL`].
pub fn held() -> u64 {
    PAGEABLE.load(Ordering::Relaxed)
}

/// What [`held`] lacks, while there is an account.
pub fn held_in_small_blocks() -> u64 {
    if flags::has(ACCOUNT) { SMALL_BLOCKS.load(Ordering::Relaxed) } else { 0 }
}

/// The account has begun: its flag is set already. Blocks that were counted before may have been freed uncounted since.
pub fn begin_account() {
    // Release: a thread that counts a block after this sees the flag, also when it frees the block.
    SMALL_BLOCKS.store(0, Ordering::Release);
}

/// Called before the allocation. The error is the limit that `bytes` would exceed.
pub fn admit(bytes: usize) -> Result<(), u64> {
    let Some(limit) = settings::host_limit() else { return Ok(()) };
    let more = |held: u64| held.checked_add(bytes as u64).filter(|&sum| sum <= limit);
    PAGEABLE.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).map(drop).map_err(|_| limit)
}

/// Undoes an `admit` whose allocation failed. Also for a freed page-locked block, which `removed` does not count.
pub fn withdraw(bytes: usize) {
    if settings::host_limit().is_some() {
        reduce(&PAGEABLE, bytes);
    }
}

/// A block of an inlined original, or from before the account or the limit, was never counted, so the count must not wrap.
fn reduce(count: &AtomicU64, bytes: usize) {
    let less = |held: u64| Some(held.saturating_sub(bytes as u64));
    let _ = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
}

#[inline]
pub fn added(bytes: usize) {
    if settings::host_limit().is_some() {
        return;
    }
    if bytes > SMALL {
        PAGEABLE.fetch_add(bytes as u64, Ordering::Relaxed);
    } else if flags::has(ACCOUNT) {
        // Else small blocks are not counted: that would cost more than to allocate them.
        SMALL_BLOCKS.fetch_add(bytes as u64, Ordering::Acquire);
    }
}

#[inline]
pub fn removed(bytes: usize) {
    if bytes > SMALL || settings::host_limit().is_some() {
        reduce(&PAGEABLE, bytes);
    } else if flags::has(ACCOUNT) {
        reduce(&SMALL_BLOCKS, bytes);
    }
}
