//! Blocks that the driver refused to free, and is offered again.
#![expect(unsafe_code, reason = "blocks are given back")]

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use syncedmem_trace::text::Bytes;

use super::record::{self, Record};
use crate::cuda::driver::Driver;
use crate::cuda::status;
use crate::error::{DriverFailure, Error};
use crate::platform::sync::{Lock, locked_static};
use crate::platform::text::warn_once;

locked_static! { static BLOCKS: Lock<Vec<(usize, Record)>> = Lock::new(Vec::new()); }

/// `BLOCKS.len()`, readable without the lock.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// # Safety
/// As for [`record::give_back`].
pub unsafe fn give_back_or_leave(driver: &Driver, address: NonNull<c_void>, record: &Record) {
    // SAFETY: the caller guarantees it.
    match unsafe { record::give_back(driver, address, record) } {
        Ok(()) if COUNT.load(Relaxed) == 0 => {}
        // A free in this context has succeeded.
        Ok(()) => {
            let of_context = take(|other| other.context == record.context);
            of_context.into_iter().for_each(|one| offer(driver, one));
        }
        Err(failure) => {
            keep(address.addr().get(), *record);
            // After a capture a later free gives the block back.
            if !status::is_capture_error(failure.status) {
                report_once(record, failure);
            }
        }
    }
}

/// The block leaks without memory for its entry, or if it could not be distinguished from a later one at its address.
#[cold]
fn keep(address: usize, record: Record) {
    BLOCKS.with(|left| {
        if record.identity.is_certain() && left.try_reserve(1).is_ok() {
            left.push((address, record));
        }
        COUNT.store(left.len(), Relaxed);
    });
}

/// Offers the blocks of one device again: on others the driver may wait for work.
#[cold]
pub fn offer_near(driver: &Driver, device: c_int) {
    // A refused one goes to the end.
    for _ in 0..COUNT.load(Relaxed) {
        let Some(one) = take(|record| record.device == device) else { return };
        offer(driver, one);
    }
}

fn take(wanted: impl Fn(&Record) -> bool) -> Option<(usize, Record)> {
    BLOCKS.with(|left| {
        let at = left.iter().position(|(_, record)| wanted(record))?;
        let one = left.remove(at);
        COUNT.store(left.len(), Relaxed);
        Some(one)
    })
}

fn offer(driver: &Driver, (key, record): (usize, Record)) {
    let Some(address) = NonNull::new(std::ptr::without_provenance_mut(key)) else { return };
    // SAFETY: no object holds a deferred block.
    if unsafe { record::give_back(driver, address, &record) }.is_err() {
        keep(key, record);
    }
}

fn report_once(record: &Record, failure: DriverFailure) {
    static REPORTED: AtomicBool = AtomicBool::new(false);
    let (side, bytes, why) = (record.side.name(), Bytes(record.bytes as u64), Error::from(failure));
    let message = format_args!("a {side} block of {bytes} could not be given back, and will be offered again: {why}");
    warn_once(&REPORTED, message);
}
