//! Blocks of the driver's that objects hold, on the device or page-locked on the host, each with its record.
//!
//! ```text
//! blocks (held)  →  cache::device (idle)  →  deferred (frees that failed)  →  record (given back)  →  source (allocated)
//! ```
#![expect(unsafe_code, reason = "the driver's functions are called")]

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use super::deferred;
use super::record::{self, Record};
use super::source::{self, Allocation, Identity, Source};
use crate::cuda::capture::RelaxedCapture;
use crate::cuda::context::ContextGuard;
use crate::cuda::driver::{self, Driver};
use crate::cuda::{driver_in_use, status, streams};
use crate::error::{Cause, DriverFailure, Error};
use crate::memory::cache::budget;
use crate::memory::cache::device;
use crate::observe::event::Origin;
use crate::platform::address_hash::{AddressMap, address_map};
use crate::platform::sync::{Lock, locked_static};
use crate::state::head::Side;
use crate::state::kind::Kind;

locked_static! { static RECORDS: Lock<AddressMap<Record>> = Lock::new(address_map()); }

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The side that it is memory of.
    pub side: Side,
    /// How many bytes: not 0.
    pub bytes: usize,
    /// Address of the object that it is for.
    pub holder: usize,
    /// Whether the caller fills it next, on the legacy default stream.
    pub pending_on_legacy: bool,
}

/// A block that was just made, or taken from those that lie idle.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Its first byte.
    pub address: NonNull<c_void>,
    /// The ordinal of its device.
    pub device: c_int,
    /// Its size: what was asked for, or up to an eighth more.
    pub room: usize,
    /// Where it came from.
    pub origin: Origin,
    /// Whether it is known to hold zeros; otherwise its contents are undefined.
    pub holds_zeros: bool,
}

/// A block in the context that `guard` made current.
pub fn allocate(driver: &Driver, guard: &ContextGuard<'_>, request: Request) -> Result<Block, Error> {
    let device = guard.device()?;
    let idle = device::take(driver, guard, request.side, request.bytes);
    let origin = if idle.is_some() { Origin::Pool } else { Origin::Fresh };
    let (address, found) = match idle {
        Some(idle) => idle,
        None => fresh(driver, guard, device, request)?,
    };
    let record = Record {
        holder: request.holder,
        pending_on_legacy: request.pending_on_legacy || found.pending_on_legacy,
        ..found
    };
    if !keep(address, record) {
        // SAFETY: nobody knows it.
        let _ = unsafe { record::give_back(driver, address, &record) };
        return Err(Error::OutOfMemory { side: request.side, asked: request.bytes, cause: Cause::Bookkeeping });
    }
    // The system's fresh memory does.
    let holds_zeros = origin == Origin::Fresh && record.is_registered();
    Ok(Block { address, device, room: record.bytes, origin, holds_zeros })
}

/// A block of the driver's that no object has held before.
fn fresh(
    driver: &Driver,
    guard: &ContextGuard<'_>,
    device: c_int,
    request: Request,
) -> Result<(NonNull<c_void>, Record), Error> {
    let Request { side, bytes, holder, pending_on_legacy } = request;
    if side == Side::Host {
        // A free has left registered blocks where they are, whatever the budget.
        device::reduce_near(Kind::Pinned, device);
    }
    if side == Side::Host && !budget::admit_pinned(bytes) {
        if budget::could_admit_pinned(bytes, device::idle(Kind::Pinned)) {
            device::give_back_near(Kind::Pinned);
        }
        if !budget::admit_pinned(bytes) {
            let cause = Cause::PinnedLimit(budget::pinned_limit());
            return Err(Error::OutOfMemory { side, asked: bytes, cause });
        }
    }
    let _relaxed = RelaxedCapture::begin(driver);
    let answer = match source::ask(driver, device, side, bytes) {
        Err(failure) if failure.status == status::OUT_OF_MEMORY => {
            // Another thread may have given back what is missing, too.
            deferred::offer_near(driver, device);
            if side == Side::Host {
                // For device memory, whoever asks for the object makes room: with what lies idle first.
                device::give_back_near(Kind::Pinned);
            }
            source::ask(driver, device, side, bytes)
        }
        answer => answer,
    };
    let Allocation { address, bytes: room, source } = match answer {
        Ok(allocation) => allocation,
        Err(failure) => {
            record::withdraw(side, bytes);
            let is_full = failure.status == status::OUT_OF_MEMORY && side == Side::Device;
            return Err(if is_full { out_of_memory(driver, device, bytes) } else { failure.into() });
        }
    };
    match side {
        Side::Host => budget::add_pinned(room - bytes),
        Side::Device => device::look(driver, device),
    }
    let identity = Identity::of(driver, guard, driver::address(address.as_ptr()));
    Ok((
        address,
        Record { side, context: guard.context, device, bytes: room, holder, pending_on_legacy, source, identity },
    ))
}

/// What came of giving a block back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freed {
    /// It is no longer this library's business.
    Done,
    /// It is none of these blocks.
    Unknown,
}

/// Gives back the block that was made for the object at `holder`, if it is one of these.
///
/// It never fails: what the driver does not take back now is offered to it again later. One that a reset of its device
/// has ended is left alone, also where its address has been given to another object since. At exit, and in a forked
/// child, nothing is done at all.
///
/// # Safety
/// Nobody refers to the block any more, and nothing that is in flight needs it.
pub unsafe fn free(address: NonNull<c_void>, holder: usize) -> Freed {
    let key = address.addr().get();
    let record = RECORDS.with(|records| match records.get(&key) {
        None => Err(Freed::Unknown),
        Some(record) if record.holder != holder => Err(Freed::Done),
        Some(_) => records.remove(&key).ok_or(Freed::Unknown),
    });
    let record = match record {
        Ok(record) => record,
        Err(answer) => return answer,
    };
    let behind = streams::take(key);
    let Some(driver) = driver_in_use() else { return Freed::Done };
    if device::keep(driver, address, record, behind) {
        return Freed::Done;
    }
    // SAFETY: the caller guarantees it.
    unsafe { deferred::give_back_or_leave(driver, address, &record) };
    Freed::Done
}

/// Page-locked memory without a record, in the current context.
pub fn pin(driver: &Driver, bytes: usize) -> Result<NonNull<c_void>, DriverFailure> {
    let _relaxed = RelaxedCapture::begin(driver);
    source::allocate(driver, Side::Host, bytes)
}

/// Gives such memory back.
///
/// # Safety
/// It is page-locked memory of the driver's, and nobody refers to it any more.
pub unsafe fn unpin(driver: &Driver, address: NonNull<c_void>) -> Result<(), DriverFailure> {
    let _relaxed = RelaxedCapture::begin(driver);
    // SAFETY: the caller guarantees it.
    unsafe { source::hand_back(driver, Side::Host, address, Source::Allocated) }
}

/// What is known about the block at `address`, if it is one of these.
pub fn find(address: NonNull<c_void>) -> Option<Record> {
    RECORDS.with(|records| records.get(&address.addr().get()).copied())
}

/// Notes whether the legacy default stream may still be writing the block at `address`.
pub fn set_pending_on_legacy(address: NonNull<c_void>, pending_on_legacy: bool) {
    RECORDS.with(|records| {
        if let Some(record) = records.get_mut(&address.addr().get()) {
            record.pending_on_legacy = pending_on_legacy;
        }
    });
}

/// Forgets a block that somebody else has given back.
pub fn forget(address: NonNull<c_void>) {
    RECORDS.with(|records| records.remove(&address.addr().get()));
}

/// What objects hold on one side in blocks of the driver's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    /// How many blocks.
    pub blocks: usize,
    /// How many bytes.
    pub bytes: u64,
    /// The largest: an object's address, and bytes.
    pub largest: [(usize, usize); 3],
}

/// What objects hold on `side`.
pub fn held(side: Side) -> Held {
    let mut held = Held::default();
    RECORDS.with(|records| {
        for record in records.values().filter(|record| record.side == side) {
            held.blocks += 1;
            held.bytes += record.bytes as u64;
            if let Some(place) = held.largest.iter().position(|&(_, bytes)| record.bytes > bytes) {
                held.largest[place..].rotate_right(1);
                held.largest[place] = (record.holder, record.bytes);
            }
        }
    });
    held
}

/// What objects hold of one device.
#[derive(Clone, Copy, Debug)]
pub struct Used {
    /// The device.
    pub ordinal: c_int,
    /// Bytes.
    pub bytes: u64,
    /// One of the blocks.
    pub block: Option<(NonNull<c_void>, Record)>,
}

/// Writes what objects hold of each device, and returns of how many.
pub fn used(places: &mut [Used]) -> usize {
    let mut count = 0;
    RECORDS.with(|records| {
        for (&key, record) in records.iter().filter(|(_, record)| record.side == Side::Device) {
            if let Some(known) = places[..count].iter_mut().find(|known| known.ordinal == record.device) {
                known.bytes += record.bytes as u64;
            } else if let Some(new) = places.get_mut(count) {
                let address = NonNull::new(std::ptr::without_provenance_mut(key));
                let block = address.map(|address| (address, *record));
                *new = Used { ordinal: record.device, bytes: record.bytes as u64, block };
                count += 1;
            }
        }
    });
    count
}

fn keep(address: NonNull<c_void>, record: Record) -> bool {
    RECORDS.with(|records| {
        let room = records.try_reserve(1).is_ok();
        if room {
            if let Some(gone) = records.insert(address.addr().get(), record) {
                // Somebody else has ended it: the driver gives out no address twice.
                record::withdraw(gone.side, gone.bytes);
            }
        }
        room
    })
}

#[cold]
fn out_of_memory(driver: &Driver, ordinal: c_int, asked: usize) -> Error {
    let (mut free, mut total) = (0, 0);
    // SAFETY: both are writable.
    let unknown = unsafe { driver.mem_info(&mut free, &mut total) }.is_err();
    if unknown {
        (free, total) = (0, 0);
    }
    let side = Side::Device;
    Error::OutOfMemory { side, asked, cause: Cause::Device { ordinal, free: free as u64, total: total as u64 } }
}
