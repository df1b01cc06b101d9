//! Counts the pageable memory that objects hold: exactly under a limit, without contention otherwise.

use std::sync::atomic::{AtomicU64, Ordering};

use super::malloc::SMALL;
use super::thread_slot::{self, SLOTS};
use crate::settings;
use crate::state::flags::{self, ACCOUNT};

/// On cache lines of its own (128: x86 fetches lines in pairs).
#[repr(align(128))]
struct Stripe(AtomicU64);

/// Bytes by the thread that counted them. A stripe may wrap below zero; the sum does not.
static PAGEABLE: [Stripe; SLOTS] = [const { Stripe(AtomicU64::new(0)) }; SLOTS];

/// Bytes in blocks of up to [`SMALL`], without a limit, that were allocated since the account began.
static SMALL_BLOCKS: AtomicU64 = AtomicU64::new(0);

/// Bytes that objects hold; without a limit, in blocks of more than [`SMALL`].
pub fn held() -> u64 {
    let sum = PAGEABLE.iter().fold(0u64, |sum, stripe| sum.wrapping_add(stripe.0.load(Ordering::Relaxed)));
    // Blocks that an inlined original allocated can bring it below zero.
    if sum > i64::MAX as u64 { 0 } else { sum }
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
    // One stripe: two threads cannot both take the last bytes.
    PAGEABLE[0].0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).map(drop).map_err(|_| limit)
}

/// Undoes an `admit` whose allocation failed. Also for a freed page-locked block, which `removed` does not count.
pub fn withdraw(bytes: usize) {
    if settings::host_limit().is_some() {
        PAGEABLE[0].0.fetch_sub(bytes as u64, Ordering::Relaxed);
    }
}

#[inline]
pub fn added(bytes: usize) {
    if settings::host_limit().is_some() {
        return;
    }
    if bytes > SMALL {
        stripe().fetch_add(bytes as u64, Ordering::Relaxed);
    } else if flags::has(ACCOUNT) {
        // Else small blocks are not counted: that would cost more than to allocate them.
        SMALL_BLOCKS.fetch_add(bytes as u64, Ordering::Acquire);
    }
}

#[inline]
pub fn removed(bytes: usize) {
    // A block of an inlined original, or from before the account, was never counted, so the count must not wrap.
    let reduce = |count: &AtomicU64| {
        let less = |held: u64| Some(held.saturating_sub(bytes as u64));
        let _ = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    };
    if settings::host_limit().is_some() {
        reduce(&PAGEABLE[0].0);
    } else if bytes > SMALL {
        stripe().fetch_sub(bytes as u64, Ordering::Relaxed);
    } else if flags::has(ACCOUNT) {
        reduce(&SMALL_BLOCKS);
    }
}

#[inline]
fn stripe() -> &'static AtomicU64 {
    &PAGEABLE[thread_slot::of_this_thread()].0
}
