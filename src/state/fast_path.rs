//! The gate of the fast path. Each accessor loads the bits of an object's word that decide whether the side is ready. While the
//! gate is closed these bits are 0, and every call takes the slow path. It is closed while the current device is checked at each
//! call, and, for the device side, in a child of a process that had used CUDA before it forked.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, fence};

use syncedmem_core::head::{Access, Side};

use super::flags;
use super::word::Word;
use crate::settings;

/// The deciding bits, by side and by whether the access writes.
static DECIDING: [[AtomicU64; 2]; 2] = [const { [const { AtomicU64::new(0) }; 2] }; 2];

static DEVICE_IS_LOST: AtomicBool = AtomicBool::new(false);

#[inline(always)]
pub fn deciding(access: Access, side: Side) -> u64 {
    slot(access, side).load(Relaxed)
}

pub fn open(access: Access, side: Side) {
    let (slot, bits) = (slot(access, side), Word::deciding(access, side));
    let is_barred = || flags::are_unread() || is_watched(side);
    // The gate is usually open: every first touch calls this function.
    if slot.load(Relaxed) == bits || is_barred() {
        return;
    }
    slot.store(bits, Relaxed);
    // Another thread may have closed the gate between the check and the store.
    fence(SeqCst);
    if is_barred() {
        slot.store(0, Relaxed);
    }
}

#[inline]
pub fn is_watched(side: Side) -> bool {
    settings::checks_device() || (side == Side::Device && DEVICE_IS_LOST.load(Relaxed))
}

/// The next call of each accessor opens the gate again, unless it must stay closed.
pub fn close() {
    fence(SeqCst);
    DECIDING.iter().flatten().for_each(|bits| bits.store(0, Relaxed));
}

/// Closes the gate of the device for good. A forked child calls this.
pub fn lose_device() {
    DEVICE_IS_LOST.store(true, Relaxed);
    close();
}

#[inline(always)]
fn slot(access: Access, side: Side) -> &'static AtomicU64 {
    &DECIDING[(side == Side::Device) as usize][(access != Access::Read) as usize]
}
