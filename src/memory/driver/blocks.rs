//! The driver's blocks that objects hold, with their records.
//!
//! ```text
//! blocks (held)  →  cache::device (idle)  →  deferred (frees that failed)  →  record (given back)  →  source (allocated)
//! ```
#![expect(unsafe_code, reason = "the driver's functions are called")]

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use syncedmem_trace::address_hash::{AddressMap, address_map};
use syncedmem_trace::event::Origin;
use syncedmem_trace::head::Side;
use syncedmem_trace::kind::Kind;

use super::deferred;
use super::record::{self, Record};
use super::source::{self, Identity};
use crate::cuda::capture::RelaxedCapture;
use crate::cuda::context::ContextGuard;
use crate::cuda::driver::{self, Driver};
use crate::cuda::{driver_in_use, status, streams};
use crate::error::{Cause, DriverFailure, Error};
use crate::memory::cache::budget;
use crate::memory::cache::device::{self, idle::IdleBlocks};
use crate::platform::sync::{Lock, locked_static};

locked_static! { static RECORDS: Lock<AddressMap<Record>> = Lock::new(address_map()); }

#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub side: Side,
    /// Not 0.
    pub bytes: usize,
    /// The object's address.
    pub holder: usize,
    /// The caller fills the block on that stream.
    pub pending_on_legacy: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Block {
    pub address: NonNull<c_void>,
    pub device: c_int,
    /// Its bytes: up to an eighth more than requested.
    pub room: usize,
    pub origin: Origin,
}

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
        // SAFETY: no object refers to it yet.
        let _ = unsafe { record::give_back(driver, address, &record) };
        return Err(Error::OutOfMemory { side: request.side, asked: request.bytes, cause: Cause::Bookkeeping });
    }
    Ok(Block { address, device, room: record.bytes, origin })
}

fn fresh(
    driver: &Driver,
    guard: &ContextGuard<'_>,
    device: c_int,
    request: Request,
) -> Result<(NonNull<c_void>, Record), Error> {
    let Request { side, bytes, holder, pending_on_legacy } = request;
    device::make_room(driver, guard, device, side, bytes);
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
    let answer = match source::allocate(driver, side, bytes) {
        Err(failure) if failure.status == status::OUT_OF_MEMORY => {
            deferred::offer_near(driver, device);
            if side == Side::Host {
                // For device memory `object::eviction` makes room.
                device::give_back_near(Kind::Pinned);
            }
            source::allocate(driver, side, bytes)
        }
        answer => answer,
    };
    let address = match answer {
        Ok(address) => address,
        Err(failure) => {
            record::withdraw(side, bytes);
            let is_full = failure.status == status::OUT_OF_MEMORY && side == Side::Device;
            return Err(if is_full { out_of_memory(driver, device, bytes) } else { failure.into() });
        }
    };
    if side == Side::Device {
        IdleBlocks::of(side).query_memory(driver, device);
    }
    let identity = Identity::of(driver, guard, driver::address(address.as_ptr()));
    Ok((address, Record { side, context: guard.context, device, bytes, holder, pending_on_legacy, identity }))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freed {
    /// Freed, kept, or left to the system.
    Done,
    Unknown,
}

/// A block that the driver refuses is offered to it again. One that a reset has ended is left alone, even if another
/// object has got its address. At exit and in a forked child nothing is done.
///
/// # Safety
/// No thread refers to the block any more, and no copy in flight uses it.
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
    IdleBlocks::of(record.side).end_use(&record);
    let behind = streams::take(key);
    let Some(driver) = driver_in_use() else { return Freed::Done };
    if !device::keep(driver, address, record, behind) {
        // SAFETY: the caller guarantees it.
        unsafe { deferred::give_back_or_leave(driver, address, &record) };
    }
    Freed::Done
}

/// Page-locked memory without a record, in the current context.
pub fn pin(driver: &Driver, bytes: usize) -> Result<NonNull<c_void>, DriverFailure> {
    let _relaxed = RelaxedCapture::begin(driver);
    source::allocate(driver, Side::Host, bytes)
}

/// # Safety
/// It came from [`pin`], and no thread refers to it any more.
pub unsafe fn unpin(driver: &Driver, address: NonNull<c_void>) -> Result<(), DriverFailure> {
    let _relaxed = RelaxedCapture::begin(driver);
    // SAFETY: the caller guarantees it.
    unsafe { source::free(driver, Side::Host, address) }
}

pub fn find(address: NonNull<c_void>) -> Option<Record> {
    RECORDS.with(|records| records.get(&address.addr().get()).copied())
}

pub fn set_pending_on_legacy(address: NonNull<c_void>, pending_on_legacy: bool) {
    RECORDS.with(|records| {
        if let Some(record) = records.get_mut(&address.addr().get()) {
            record.pending_on_legacy = pending_on_legacy;
        }
    });
}

/// Other code has freed the block.
pub fn forget(address: NonNull<c_void>) {
    if let Some(record) = RECORDS.with(|records| records.remove(&address.addr().get())) {
        IdleBlocks::of(record.side).end_use(&record);
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    pub blocks: usize,
    pub bytes: u64,
    /// The objects' addresses, and the blocks' bytes.
    pub largest: [(usize, usize); 3],
}

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

fn keep(address: NonNull<c_void>, record: Record) -> bool {
    let in_use = IdleBlocks::of(record.side);
    RECORDS.with(|records| {
        let has_room = records.try_reserve(1).is_ok();
        // Other code has freed a block that was recorded here: the driver hands out no address twice.
        if let Some(gone) = has_room.then(|| records.insert(address.addr().get(), record)).flatten() {
            IdleBlocks::of(gone.side).end_use(&gone);
            record::withdraw(gone.side, gone.bytes);
        }
        if has_room {
            in_use.add_use(&record);
        }
        has_room
    })
}

#[cold]
fn out_of_memory(driver: &Driver, ordinal: c_int, asked: usize) -> Error {
    let (free, total) = driver.memory().unwrap_or_default();
    Error::OutOfMemory { side: Side::Device, asked, cause: Cause::Device { ordinal, free, total } }
}
