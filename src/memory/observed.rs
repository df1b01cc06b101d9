//! The outermost layer of allocations for objects: records each allocation, fill and free.

use std::ffi::c_void;
use std::ptr::NonNull;

use syncedmem_core::head::Side;
use syncedmem_core::kind::Kind;
use syncedmem_trace::event::{Origin, What};

use crate::observe::recorder::{self, Span, Subject};

/// A block as its source returned it.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    pub address: NonNull<c_void>,
    /// Bytes: as requested, or for one of the driver's up to an eighth more.
    pub room: usize,
    pub origin: Origin,
    /// Number of first bytes with undefined contents. The others are zeros.
    pub undefined: usize,
}

/// Records the allocation that `span` timed, then calls `fill` with the number of bytes to fill, and records that.
#[inline]
pub fn made<E>(
    Found { address, room, origin, undefined }: Found,
    kind: Kind,
    subject: Subject,
    span: Span,
    fill: Option<impl FnOnce(usize) -> Result<(), E>>,
) -> Result<(), E> {
    span.end(subject, || What::Allocated { kind, bytes: room as u64, block: address.addr().get() as u64, origin });
    let Some(fill) = fill else { return Ok(()) };
    let (side, bytes) = (kind.side(), subject.bytes);
    let span = recorder::begin(if side == Side::Host { c"fill host side" } else { c"fill device side" }, bytes);
    fill(undefined.min(bytes))?;
    if undefined > 0 {
        span.end(subject, || What::Filled { side, bytes: bytes as u64 });
    }
    Ok(())
}

/// Called before the block goes back: another thread may get its address then.
#[inline]
pub fn freed(address: NonNull<c_void>, owner: usize, block: impl FnOnce() -> (Kind, usize)) {
    recorder::record(Subject { object: owner, bytes: 0 }, || {
        let (kind, bytes) = block();
        What::Freed { kind, bytes: bytes as u64, block: address.addr().get() as u64 }
    });
}
