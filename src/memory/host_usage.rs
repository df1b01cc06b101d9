//! Counts the pageable memory that objects hold: exactly under a limit, without contention otherwise.

use std::sync::atomic::{AtomicU64, Ordering};

use super::malloc::SMALL;
use super::thread_slot::{self, SLOTS};
use crate::settings;

/// On cache lines of its own (128: x86 fetches lines in pairs).
#[repr(align(128))]
struct Stripe(AtomicU64);

/// Bytes by the thread that counted them. A stripe may wrap below zero; the sum does not.
static PAGEABLE: [Stripe; SLOTS] = [const { Stripe(AtomicU64::new(0)) }; SLOTS];

/// Bytes that objects hold; without a limit, in blocks of more than [`SMALL`].
pub fn held() -> u64 {
    let sum = PAGEABLE.iter().fold(0u64, |sum, stripe| sum.wrapping_add(stripe.0.load(Ordering::Relaxed)));
    // Blocks that an inlined original allocated can bring it below zero.
    if sum > i64::MAX as u64 { 0 } else { sum }
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
    // Small blocks are not counted: that would cost more than to allocate them.
    if bytes > SMALL && settings::host_limit().is_none() {
        stripe().fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

#[inline]
pub fn removed(bytes: usize) {
    if settings::host_limit().is_some() {
        // An inlined original's block was never admitted, so the count must not wrap.
        let less = |held: u64| Some(held.saturating_sub(bytes as u64));
        let _ = PAGEABLE[0].0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    } else if bytes > SMALL {
        stripe().fetch_sub(bytes as u64, Ordering::Relaxed);
    }
}

#[inline]
fn stripe() -> &'static AtomicU64 {
    &PAGEABLE[thread_slot::of_this_thread()].0
}
