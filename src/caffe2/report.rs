//! Caffe2's `MemoryAllocationReporter`: a line on standard error for each block of a tensor, with the total of the account.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use syncedmem_core::head::Side;
use syncedmem_core::kind::Kind;
use syncedmem_core::text::Bytes;

use crate::object::report::{account, keep_account};
use crate::platform::text::warn;

static IS_ON: AtomicBool = AtomicBool::new(false);

/// Switches the report; on, it needs the account, which is switched on too.
pub fn set(on: bool) {
    if on {
        keep_account(true);
    }
    IS_ON.store(on, Relaxed);
}

/// Reports an allocation; returns whether the block's end is to be reported too.
pub fn allocated(side: Side, bytes: usize) -> bool {
    let on = IS_ON.load(Relaxed);
    if on {
        line("allocated", side, bytes);
    }
    on
}

#[cold]
pub fn freed(side: Side, bytes: usize) {
    line("freed", side, bytes);
}

#[cold]
fn line(what: &str, side: Side, bytes: usize) {
    let account = account();
    let total = Kind::ALL.map(|kind| account.memory(kind).live).iter().sum();
    let side = side.name();
    warn(format_args!(
        "a tensor's {side} memory of {} was {what}; in all there are {}",
        Bytes(bytes as u64),
        Bytes(total)
    ));
}
