//! Blocks that nobody holds any more, and that the driver would not take back yet.
#![expect(unsafe_code, reason = "blocks are given back")]

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use super::record::{self, Record};
use crate::cuda::context::Context;
use crate::cuda::driver::Driver;
use crate::cuda::status;
use crate::error::{DriverFailure, Error};
use crate::platform::sync::{Lock, locked_static};
use crate::platform::text::{Bytes, Text, to_stderr};

locked_static! { static BLOCKS: Lock<Vec<(usize, Record)>> = Lock::new(Vec::new()); }

/// How many there are, readable without the lock.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Gives a block back to the driver now, or as soon as it takes it.
///
/// # Safety
/// As for [`free`].
pub unsafe fn give_back_or_leave(driver: &Driver, address: NonNull<c_void>, record: &Record) {
    // SAFETY: the caller guarantees it.
    match unsafe { record::give_back(driver, address, record) } {
        Ok(()) => offer_one(driver, record.context),
        Err(failure) => {
            keep(address.addr().get(), *record);
            // A capture ends, and the block is given back with the next one.
            if !status::is_capture_error(failure.status) {
                say_once(record, failure);
            }
        }
    }
}

/// Keeps a block for a later offer. It is lost without memory for that, and where nothing tells it from another: its
/// address may be somebody else's by then.
#[cold]
fn keep(address: usize, record: Record) {
    BLOCKS.with(|left| {
        if record.identity.is_certain() && left.try_reserve(1).is_ok() {
            left.push((address, record));
        }
        COUNT.store(left.len(), Relaxed);
    });
}

/// Offers one block of `context`, which has just taken another, to the driver again.
fn offer_one(driver: &Driver, context: Context) {
    if COUNT.load(Relaxed) == 0 {
        return;
    }
    take(|record| record.context == context).into_iter().for_each(|one| offer(driver, one));
}

/// Offers every block of a device to the driver again. Not another device's: what runs there may have to be waited for.
#[cold]
pub fn offer_near(driver: &Driver, device: c_int) {
    let mut count = COUNT.load(Relaxed);
    while count > 0 {
        let Some(one) = take(|record| record.device == device) else { return };
        offer(driver, one);
        // One that is refused again is back behind the others.
        count -= 1;
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
    // SAFETY: nobody refers to what is left.
    if unsafe { record::give_back(driver, address, &record) }.is_err() {
        keep(key, record);
    }
}

/// The first block that the driver would not take back is told of: memory that vanishes in silence is what this
/// library is there to prevent.
#[cold]
fn say_once(record: &Record, failure: DriverFailure) {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Relaxed) {
        let said = Text::<600>::of(format_args!(
            "libsyncedmem: a {} block of {} could not be given back, and will be offered again: {}\n",
            record.side.name(),
            Bytes(record.bytes as u64),
            Error::from(failure)
        ));
        to_stderr(said.as_bytes());
    }
}
