//! Copies of pageable memory in pieces through a ring of page-locked slots, which the device reaches at its full speed
//! while several threads fill or empty them. Only where `SYNCEDMEM_STAGE_FROM` asks for it: no GPU has been measured yet.
//!
//! # Order
//! A `cudaMemcpy` comes after everything that was queued on the legacy default stream before, and on every stream which that
//! one waits for. So does the first piece: an event is recorded on the legacy stream, which waits for those streams before it,
//! and then that stream is waited for. The pieces are on a stream of the ring's own, which waits for no other. What is queued
//! later, on whatever stream, comes after the last piece, since the call returns only when that is done, to the device too.
//! What another thread queues during the call is in no order with a `cudaMemcpy` either that it does not wait for.
//!
//! So neither the ring nor the block has anything in flight afterwards, and no copy of the device's ever touches the pageable
//! memory itself.
#![expect(unsafe_code, reason = "the driver's functions are called")]

use std::ptr::NonNull;

use super::Ends;
use super::staging_buffers::{self, Ring, SLOT, SLOTS};
use super::workers::{self, Crew, Job};
use crate::cuda::capture::{self, Unhindered};
use crate::cuda::context::Within;
use crate::cuda::driver::{self, Driver};
use crate::cuda::{attributes, ends_all_work, pointer};
use crate::error::{DriverFailure, Error};
use crate::settings;
use crate::state::head::Side;

/// How a copy went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Staged {
    /// It is done, and nothing of it is in flight.
    Done,
    /// Nothing was copied: the driver's own way is to be taken.
    No,
}

/// Copies `bytes` in the context that `within` made current, which is the device block's, if they are to go this way.
///
/// # Safety
/// Both ends are good for that many bytes.
pub unsafe fn copy(driver: &Driver, within: &Within<'_>, ends: Ends, bytes: usize) -> Result<Staged, Error> {
    let is_staged = settings::stage_from().is_some_and(|least| bytes >= least);
    if !is_staged || ends.pinned {
        return Ok(Staged::No);
    }
    let device = within.device()?;
    if attributes::why_not_staged(driver, device).is_some() || !is_pageable(driver, ends) {
        return Ok(Staged::No);
    }
    capture::spare_legacy_stream(driver)?;
    // One copy at a time goes this way.
    let Some(claim) = workers::claim() else { return Ok(Staged::No) };
    let unhindered = Unhindered::begin(driver);
    let Some(ring) = Ring::take(driver, within, device) else { return Ok(Staged::No) };
    drop(unhindered);
    // A thread that captures is refused here, before anything is queued that could not be waited for.
    if let Err(failure) = settle(driver, &ring) {
        ring.keep(driver);
        return Err(failure.into());
    }
    let _unhindered = Unhindered::begin(driver);
    let job = Job { host: ends.host.cast().as_ptr(), ring: ring.slots(), bytes, to_ring: ends.to == Side::Device };
    let copy = |crew: &Crew| {
        let copy = Copy { driver, crew, ring: &ring, device: ends.device, bytes };
        match ends.to {
            Side::Device => copy.to_device(),
            Side::Host => copy.to_host(),
        }
    };
    // SAFETY: the caller guarantees the host's end; the ring is this copy's alone, and the device uses a slot only
    // between a piece's start and its event.
    let result = unsafe { claim.lead(job, copy) };
    // Where that cannot be known something may be in flight still: then the ring is left alone for ever.
    if matches!(result, None | Some(Ok(()))) || drain(driver, &ring) {
        ring.keep(driver);
    }
    match result {
        Some(result) => Ok(result.map(|()| Staged::Done)?),
        None => Ok(Staged::No),
    }
}

/// Waits for everything that a `cudaMemcpy` would come after: see the module's description.
fn settle(driver: &Driver, ring: &Ring) -> Result<(), DriverFailure> {
    // SAFETY: null is the legacy default stream.
    unsafe { ring.events[0].record(driver, std::ptr::null_mut()) }?;
    // Not by `synchronize::legacy_stream`, which a capture does not hinder: this one is refused as `cudaMemcpy` is.
    // SAFETY: as above.
    unsafe { driver.stream_synchronize(std::ptr::null_mut()) }
}

/// Whether the host's memory is unknown to the driver. What its owner has page-locked is copied best as it is.
pub fn is_pageable(driver: &Driver, ends: Ends) -> bool {
    pointer::is_known(driver, driver::address(ends.host.as_ptr())) == Ok(false)
}

/// Waits until nothing of a copy that failed is in flight; `false` if that cannot be known.
#[cold]
fn drain(driver: &Driver, ring: &Ring) -> bool {
    // SAFETY: the ring's stream is there as long as its context.
    let stream = unsafe { driver.stream_synchronize(ring.stream()) };
    // SAFETY: it asks for nothing.
    let settled = stream.or_else(|_| unsafe { driver.context_synchronize() });
    settled.map_or_else(ends_all_work, |()| true)
}

/// One copy.
struct Copy<'c> {
    driver: &'c Driver,
    crew: &'c Crew,
    ring: &'c Ring,
    device: NonNull<std::ffi::c_void>,
    bytes: usize,
}

impl Copy<'_> {
    fn to_device(&self) -> Result<(), DriverFailure> {
        let parts = self.bytes.div_ceil(SLOT);
        for part in 0..parts {
            if part >= SLOTS {
                self.wait(part - SLOTS)?;
            }
            self.crew.copy(self.end(part));
            self.queue(part, Side::Device)?;
        }
        self.wait(parts - 1)
    }

    fn to_host(&self) -> Result<(), DriverFailure> {
        let parts = self.bytes.div_ceil(SLOT);
        for part in 0..parts.min(SLOTS) {
            self.queue(part, Side::Host)?;
        }
        for part in 0..parts {
            self.wait(part)?;
            self.crew.copy(self.end(part));
            if part + SLOTS < parts {
                self.queue(part + SLOTS, Side::Host)?;
            }
        }
        Ok(())
    }

    /// Where a part ends.
    fn end(&self, part: usize) -> usize {
        self.bytes.min((part + 1) * SLOT)
    }

    /// Lets the device copy a part between its block and the part's slot.
    fn queue(&self, part: usize, to: Side) -> Result<(), DriverFailure> {
        let at = part * SLOT;
        let bytes = self.end(part) - at;
        let slot = driver::address(self.ring.slots().wrapping_add(at % staging_buffers::BYTES));
        let device = driver::address(self.device.as_ptr()) + at as u64;
        let (to, from) = if to == Side::Device { (device, slot) } else { (slot, device) };
        let stream = self.ring.stream();
        // SAFETY: a slot that is not used until its event has completed, and a part of the device's block.
        unsafe { self.driver.copy_async(to, from, bytes, stream) }?;
        // SAFETY: the ring's own stream.
        unsafe { self.ring.events[part % SLOTS].record(self.driver, stream) }
    }

    /// Waits until the device has copied a part.
    fn wait(&self, part: usize) -> Result<(), DriverFailure> {
        self.ring.events[part % SLOTS].wait(self.driver)
    }
}
