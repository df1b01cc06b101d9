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

use super::Endpoints;
use super::staging_buffers::{self, SLOT, SLOTS, StagingBuffers};
use super::workers::{self, Job, Workers};
use crate::cuda::capture::{self, RelaxedCapture};
use crate::cuda::context::ContextGuard;
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

/// Copies `bytes` in the context that `guard` made current, which is the device block's, if they are to go this way.
///
/// # Safety
/// Both ends are good for that many bytes.
pub unsafe fn copy(
    driver: &Driver,
    guard: &ContextGuard<'_>,
    endpoints: Endpoints,
    bytes: usize,
) -> Result<Staged, Error> {
    let is_staged = settings::stage_from().is_some_and(|least| bytes >= least);
    if !is_staged || endpoints.pinned {
        return Ok(Staged::No);
    }
    let device = guard.device()?;
    if attributes::why_not_registered(driver, device).is_some() || !is_pageable(driver, endpoints) {
        return Ok(Staged::No);
    }
    capture::spare_legacy_stream(driver)?;
    // One copy at a time goes this way.
    let Some(claim) = workers::claim() else { return Ok(Staged::No) };
    let relaxed = RelaxedCapture::begin(driver);
    let Some(buffers) = StagingBuffers::take(driver, guard, device) else { return Ok(Staged::No) };
    drop(relaxed);
    // A thread that captures is refused here, before anything is queued that could not be waited for.
    if let Err(failure) = wait_for_legacy_stream(driver, &buffers) {
        buffers.keep(driver);
        return Err(failure.into());
    }
    let _relaxed = RelaxedCapture::begin(driver);
    let job = Job {
        host: endpoints.host.cast().as_ptr(),
        buffers: buffers.slots(),
        bytes,
        to_buffers: endpoints.to == Side::Device,
    };
    let copy = |workers: &Workers| {
        let copy = Copy { driver, workers, buffers: &buffers, device: endpoints.device, bytes };
        match endpoints.to {
            Side::Device => copy.to_device(),
            Side::Host => copy.to_host(),
        }
    };
    // SAFETY: the caller guarantees the host's end; the ring is this copy's alone, and the device uses a slot only
    // between a piece's start and its event.
    let result = unsafe { claim.lead(job, copy) };
    // Where that cannot be known something may be in flight still: then the ring is left alone for ever.
    if matches!(result, None | Some(Ok(()))) || drain(driver, &buffers) {
        buffers.keep(driver);
    }
    match result {
        Some(result) => Ok(result.map(|()| Staged::Done)?),
        None => Ok(Staged::No),
    }
}

/// Waits for everything that a `cudaMemcpy` would come after: see the module's description.
fn wait_for_legacy_stream(driver: &Driver, buffers: &StagingBuffers) -> Result<(), DriverFailure> {
    // SAFETY: null is the legacy default stream.
    unsafe { buffers.events[0].record(driver, std::ptr::null_mut()) }?;
    // Not by `synchronize::legacy_stream`, which a capture does not hinder: this one is refused as `cudaMemcpy` is.
    // SAFETY: as above.
    unsafe { driver.stream_synchronize(std::ptr::null_mut()) }
}

/// Whether the host's memory is unknown to the driver. What its owner has page-locked is copied best as it is.
pub fn is_pageable(driver: &Driver, endpoints: Endpoints) -> bool {
    pointer::is_known(driver, driver::address(endpoints.host.as_ptr())) == Ok(false)
}

/// Waits until nothing of a copy that failed is in flight; `false` if that cannot be known.
#[cold]
fn drain(driver: &Driver, buffers: &StagingBuffers) -> bool {
    // SAFETY: the ring's stream is there as long as its context.
    let stream = unsafe { driver.stream_synchronize(buffers.stream()) };
    // SAFETY: it asks for nothing.
    let settled = stream.or_else(|_| unsafe { driver.context_synchronize() });
    settled.map_or_else(ends_all_work, |()| true)
}

/// One copy.
struct Copy<'c> {
    driver: &'c Driver,
    workers: &'c Workers,
    buffers: &'c StagingBuffers,
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
            self.workers.copy(self.end(part));
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
            self.workers.copy(self.end(part));
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
        let slot = driver::address(self.buffers.slots().wrapping_add(at % staging_buffers::BYTES));
        let device = driver::address(self.device.as_ptr()) + at as u64;
        let (to, from) = if to == Side::Device { (device, slot) } else { (slot, device) };
        let stream = self.buffers.stream();
        // SAFETY: a slot that is not used until its event has completed, and a part of the device's block.
        unsafe { self.driver.copy_async(to, from, bytes, stream) }?;
        // SAFETY: the ring's own stream.
        unsafe { self.buffers.events[part % SLOTS].record(self.driver, stream) }
    }

    /// Waits until the device has copied a part.
    fn wait(&self, part: usize) -> Result<(), DriverFailure> {
        self.buffers.events[part % SLOTS].wait(self.driver)
    }
}
