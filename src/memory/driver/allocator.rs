//! Blocks that the driver allocates for objects.
//!
//! ```text
//! blocks (in use)  →  cache::device (idle)  →  deferred (frees that failed)  →  source (allocate, free)
//! ```
#![expect(unsafe_code, reason = "the driver's functions are called")]

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use syncedmem_core::head::Side;
use syncedmem_core::kind::Kind;
use syncedmem_trace::event::Origin;

use super::deferred;
use super::source::{self, Allocation, Identity};
use crate::cuda::capture::{self, RelaxedCapture};
use crate::cuda::context::{Context, ContextGuard};
use crate::cuda::driver::{self, Driver, Stream};
use crate::cuda::events::Event;
use crate::cuda::streams::{self, StreamEvents};
use crate::cuda::{driver_in_use, status};
use crate::error::{Cause, DriverFailure, Error};
use crate::memory::blocks::{self, Block, Maker};
use crate::memory::cache::device::{self, idle::IdleBlocks};
use crate::memory::limit;
use crate::memory::observed::Found;

#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub side: Side,
    /// Requested bytes, at least 1.
    pub bytes: usize,
    /// The object's address.
    pub owner: usize,
    /// The caller fills the block on the legacy default stream.
    pub pending_on_legacy: bool,
}

pub fn allocate(driver: &Driver, guard: &ContextGuard<'_>, request: Request) -> Result<Found, Error> {
    let Request { side, bytes, owner, pending_on_legacy } = request;
    let device = guard.device()?;
    let idle = device::take(driver, guard, side, bytes);
    let origin = if idle.is_some() { Origin::Pool } else { Origin::Fresh };
    let (address, mut allocation) = match idle {
        Some(idle) => idle,
        None => fresh(driver, guard, device, request)?,
    };
    allocation.pending_on_legacy |= pending_on_legacy;
    match blocks::keep(address, Block::new(Maker::Driver(allocation), bytes, owner)) {
        Ok(gone) => {
            IdleBlocks::of(side).add_use(&allocation);
            // Other code has freed the recorded block: the driver returns no address twice.
            if let Some(Block { maker: Maker::Driver(gone), .. }) = gone {
                IdleBlocks::of(gone.side).end_use(&gone);
                gone.withdraw();
            }
        }
        Err(cause) => {
            // SAFETY: no object refers to the block yet.
            let _ = unsafe { allocation.give_back(driver, address) };
            return Err(Error::OutOfMemory { side, asked: bytes, cause });
        }
    }
    Ok(Found { address, room: allocation.room, origin, undefined: bytes })
}

pub fn fresh(
    driver: &Driver,
    guard: &ContextGuard<'_>,
    device: c_int,
    request: Request,
) -> Result<(NonNull<c_void>, Allocation), Error> {
    let Request { side, bytes, pending_on_legacy, .. } = request;
    device::make_room(driver, guard, device, side, bytes);
    if side == Side::Host && !limit::admit_pinned(bytes) {
        if limit::could_admit_pinned(bytes, device::idle(Kind::Pinned)) {
            device::give_back_near(Kind::Pinned);
        }
        if !limit::admit_pinned(bytes) {
            let cause = Cause::PinnedLimit(limit::pinned_limit());
            return Err(Error::OutOfMemory { side, asked: bytes, cause });
        }
    }
    let _relaxed = RelaxedCapture::begin(driver);
    let answer = match source::allocate(driver, side, bytes) {
        Err(failure) if failure.status == status::OUT_OF_MEMORY => {
            deferred::offer_near(driver, device);
            if side == Side::Host {
                // `object::reclaim` frees idle device memory.
                device::give_back_near(Kind::Pinned);
            }
            source::allocate(driver, side, bytes)
        }
        answer => answer,
    };
    let address = match answer {
        Ok(address) => address,
        Err(failure) => {
            if side == Side::Host {
                limit::withdraw_pinned(bytes);
            }
            let is_full = failure.status == status::OUT_OF_MEMORY && side == Side::Device;
            return Err(if is_full { out_of_memory(driver, device, bytes) } else { failure.into() });
        }
    };
    if side == Side::Device {
        IdleBlocks::of(side).query_memory(driver, device);
    }
    let identity = Identity::of(driver, guard, driver::address(address.as_ptr()));
    let (context, behind) = (guard.context, StreamEvents::default());
    Ok((address, Allocation { side, context, device, room: bytes, pending_on_legacy, identity, behind }))
}

/// Keeps a block that its object has freed as an idle one, or frees it. If the driver refuses to free it, `deferred` tries again later.
/// Does nothing at exit and in a forked child.
///
/// # Safety
/// The block's entry was removed from the table. No thread refers to the block, and no copy in flight uses it.
pub unsafe fn give_back(address: NonNull<c_void>, allocation: Allocation) {
    IdleBlocks::of(allocation.side).end_use(&allocation);
    let Some(driver) = driver_in_use() else { return };
    // SAFETY: the caller of `give_back` guarantees that nothing uses the block.
    unsafe { device::keep_or_free(driver, address, allocation) };
}

/// Allocates page-locked memory in the current context, without an entry in the table.
pub fn allocate_unrecorded(driver: &Driver, bytes: usize) -> Result<NonNull<c_void>, DriverFailure> {
    let _relaxed = RelaxedCapture::begin(driver);
    source::allocate(driver, Side::Host, bytes)
}

/// # Safety
/// The block came from [`allocate_unrecorded`] or `cudaMallocHost`, and no thread refers to it any more.
pub unsafe fn free_unrecorded(driver: &Driver, address: NonNull<c_void>) -> Result<(), DriverFailure> {
    let _relaxed = RelaxedCapture::begin(driver);
    // SAFETY: the caller of `free_unrecorded` guarantees that nothing uses the block.
    unsafe { source::free(driver, Side::Host, address) }
}

/// Declares that work already in `stream` may use the block at `address` of `context`. Stream and context exist.
pub fn declare(driver: &Driver, address: NonNull<c_void>, context: Context, stream: Stream<'_>) -> Result<(), Error> {
    let guard = ContextGuard::of_stream(driver, stream, context)?;
    capture::refuse_captured_within(driver, &guard, stream)?;
    let event = Event::new(driver, &guard)?;
    event.record(driver, stream).inspect_err(|_| event.destroy(driver))?;
    let event = event.into_context(driver, context)?;
    // Drop complete events first: then the new one needs no wait.
    let full = blocks::change(address, |allocation| {
        let is_full = allocation.behind.is_full();
        is_full.then(|| std::mem::take(&mut allocation.behind))
    });
    for event in full.flatten().iter_mut().flat_map(StreamEvents::take) {
        if !matches!(event.end_if_complete(driver), Ok(true)) {
            add(driver, address, event);
        }
    }
    add(driver, address, event);
    Ok(())
}

fn add(driver: &Driver, address: NonNull<c_void>, event: Event) {
    let left_over = blocks::change(address, |allocation| allocation.behind.and(event)).unwrap_or(Some(event));
    left_over.into_iter().for_each(|event| streams::wait(driver, event));
}

/// Removes the entry of `gone`, which other code has freed. `false`: the entry is another block's.
pub fn forget(address: NonNull<c_void>, gone: &Allocation) -> bool {
    let is_there = |block: &Block| block.allocation().is_some_and(|it| it.identity == gone.identity);
    let removed =
        blocks::with(|table| table.get(address).is_some_and(is_there).then(|| table.remove(address)).flatten());
    if let Some(Block { maker: Maker::Driver(_), .. }) = removed {
        IdleBlocks::of(gone.side).end_use(gone);
    }
    removed.is_some()
}

#[cold]
fn out_of_memory(driver: &Driver, ordinal: c_int, asked: usize) -> Error {
    let (free, total) = driver.memory().unwrap_or_default();
    Error::OutOfMemory { side: Side::Device, asked, cause: Cause::Device { ordinal, free, total } }
}
