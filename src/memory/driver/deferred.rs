//! Blocks that the driver refused to free. The library tries to free them again later.
#![expect(unsafe_code, reason = "blocks are given back")]

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use syncedmem_core::text::Bytes;

use super::source::Allocation;
use crate::cuda::driver::Driver;
use crate::cuda::status;
use crate::error::{DriverFailure, Error};
use crate::memory::blocks;
use crate::platform::text::warn_once;

/// The number of refused blocks in the table, readable without its lock.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// # Safety
/// The contract of [`Allocation::give_back`]: nothing uses the block.
pub unsafe fn give_back_or_leave(driver: &Driver, address: NonNull<c_void>, mut allocation: Allocation) {
    // SAFETY: the caller of `give_back_or_leave` guarantees that nothing uses the block.
    match unsafe { allocation.give_back(driver, address) } {
        Ok(()) if COUNT.load(Relaxed) == 0 => {}
        // A free in this context has succeeded: try the others of the context.
        Ok(()) => {
            let of_context = take(|other| other.context == allocation.context);
            of_context.into_iter().for_each(|(address, one)| offer(driver, address, one));
        }
        Err(failure) => {
            keep(address, allocation);
            // A free after the end of the capture succeeds, so no warning is due.
            if !status::is_capture_error(failure.status) {
                report_once(&allocation, failure);
            }
        }
    }
}

/// Leaks the block if there is no memory for its entry, or if it cannot be distinguished from a later block at its address.
#[cold]
fn keep(address: NonNull<c_void>, allocation: Allocation) {
    blocks::with(|table| {
        if allocation.identity.is_certain() && table.refused.try_reserve(1).is_ok() {
            table.refused.push((address, allocation));
        }
        COUNT.store(table.refused.len(), Relaxed);
    });
}

/// Tries to free the refused blocks of one device. On other devices the driver may wait for work.
#[cold]
pub fn offer_near(driver: &Driver, device: c_int) {
    // A block that is refused again goes to the end of the list.
    for _ in 0..COUNT.load(Relaxed) {
        let Some((address, one)) = take(|allocation| allocation.device == device) else { return };
        offer(driver, address, one);
    }
}

fn take(wanted: impl Fn(&Allocation) -> bool) -> Option<(NonNull<c_void>, Allocation)> {
    blocks::with(|table| {
        let at = table.refused.iter().position(|(_, allocation)| wanted(allocation))?;
        let one = table.refused.remove(at);
        COUNT.store(table.refused.len(), Relaxed);
        Some(one)
    })
}

fn offer(driver: &Driver, address: NonNull<c_void>, mut allocation: Allocation) {
    // SAFETY: the object of a refused block has freed it.
    if unsafe { allocation.give_back(driver, address) }.is_err() {
        keep(address, allocation);
    }
}

fn report_once(allocation: &Allocation, failure: DriverFailure) {
    static REPORTED: AtomicBool = AtomicBool::new(false);
    let (side, bytes, why) = (allocation.side.name(), Bytes(allocation.room as u64), Error::from(failure));
    let message = format_args!("a {side} block of {bytes} could not be given back, and will be offered again: {why}");
    warn_once(&REPORTED, message);
}
