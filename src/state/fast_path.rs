//! When data that is current may be handed out without another look, at no cost where it may.
//!
//! Each accessor of C++ asks for the bits of an object's word that decide. Until it is known that they do, none are
//! given, and every call goes the long way: while calls are counted, while the device check is on, and on the device
//! side in a process that was forked from one that had used CUDA.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, fence};

use super::flags;
use super::head::{Access, Side};
use super::word::Word;
use crate::settings;

/// By side, and whether data is written.
static DECIDING: [[AtomicU64; 2]; 2] = [const { [const { AtomicU64::new(0) }; 2] }; 2];

/// Whether the device side is out of reach for good.
static DEVICE_IS_LOST: AtomicBool = AtomicBool::new(false);

/// The bits that decide whether `access` to `side` is served at once.
#[inline(always)]
pub fn deciding(access: Access, side: Side) -> u64 {
    slot(access, side).load(Relaxed)
}

/// Lets them decide from now on, unless something stands against it.
pub fn open(access: Access, side: Side) {
    let (slot, bits) = (slot(access, side), Word::deciding(access, side));
    let is_barred = || flags::sees_every_call() || is_watched(side);
    // Every first touch comes here: it is open already, as a rule.
    if slot.load(Relaxed) == bits || is_barred() {
        return;
    }
    slot.store(bits, Relaxed);
    // Another thread may have begun to watch in between, and closed it before it was opened.
    fence(SeqCst);
    if is_barred() {
        slot.store(0, Relaxed);
    }
}

/// Whether calls for `side` must be looked at even where nothing is to be done.
#[inline]
pub fn is_watched(side: Side) -> bool {
    settings::checks_device() || (side == Side::Device && DEVICE_IS_LOST.load(Relaxed))
}

/// Makes every accessor find out again.
pub fn close() {
    fence(SeqCst);
    DECIDING.iter().flatten().for_each(|bits| bits.store(0, Relaxed));
}

/// Makes it so that the device side is out of reach: in a forked child.
pub fn lose_device() {
    DEVICE_IS_LOST.store(true, Relaxed);
    close();
}

#[inline(always)]
fn slot(access: Access, side: Side) -> &'static AtomicU64 {
    &DECIDING[(side == Side::Device) as usize][(access != Access::Read) as usize]
}
