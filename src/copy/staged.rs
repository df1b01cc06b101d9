//! Copies of pageable memory through page-locked staging buffers, which the device copies at full speed while several
//! threads fill or empty them. Opt-in by `SYNCEDMEM_STAGE_FROM`: not measured on a GPU yet.
//!
//! Ordered as `cudaMemcpy`: the thread first waits for the legacy default stream, and so for every stream which that
//! one waits for. The pieces are on a stream of the buffers' own, and the call returns when the last is complete. Work
//! that another thread queues meanwhile has no order with `cudaMemcpy` either.
#![expect(unsafe_code, reason = "the driver's functions are called")]

use std::ptr::NonNull;

use syncedmem_trace::head::Side;

use super::Endpoints;
use super::staging_buffers::{self, SLOT, SLOTS, StagingBuffers};
use super::workers::{self, Job, Workers};
use crate::cuda::capture::{self, RelaxedCapture};
use crate::cuda::context::ContextGuard;
use crate::cuda::driver::{self, Driver, Stream};
use crate::cuda::{attributes, ends_all_work, pointer};
use crate::error::{DriverFailure, Error};
use crate::settings;

/// `guard` made the device block's context current. `false`: nothing was copied.
///
/// # Safety
/// Both blocks have that many bytes.
pub unsafe fn copy(
    driver: &Driver,
    guard: &ContextGuard<'_>,
    endpoints: Endpoints,
    bytes: usize,
) -> Result<bool, Error> {
    let is_staged = settings::stage_from().is_some_and(|least| bytes >= least);
    if !is_staged || endpoints.pinned {
        return Ok(false);
    }
    let device = guard.device()?;
    if attributes::why_not_registered(driver, device).is_some() || !is_pageable(driver, endpoints) {
        return Ok(false);
    }
    capture::spare_legacy_stream(driver)?;
    // One copy at a time is staged.
    let Some(claim) = workers::claim() else { return Ok(false) };
    let relaxed = RelaxedCapture::begin(driver);
    let Some(buffers) = StagingBuffers::take(driver, guard, device) else { return Ok(false) };
    drop(relaxed);
    // Fails on a thread that captures, while nothing is queued that it could not wait for.
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
    // SAFETY: the caller guarantees the host's memory. Only this copy uses the buffers, and the device a slot until its event.
    let result = unsafe { claim.lead(job, copy) };
    // Buffers in which something may be in flight are never used again.
    if matches!(result, None | Some(Ok(()))) || drain(driver, &buffers) {
        buffers.keep(driver);
    }
    match result {
        Some(result) => Ok(result.map(|()| true)?),
        None => Ok(false),
    }
}

fn wait_for_legacy_stream(driver: &Driver, buffers: &StagingBuffers) -> Result<(), DriverFailure> {
    buffers.events[0].record(driver, Stream::LEGACY)?;
    // Not `synchronize::legacy_stream`, whose relaxed mode a capture permits: this must fail where `cudaMemcpy` does.
    driver.synchronize_stream(Stream::LEGACY)
}

/// Whether the driver does not know the host's memory: its owner has not page-locked it.
pub fn is_pageable(driver: &Driver, endpoints: Endpoints) -> bool {
    pointer::is_known(driver, driver::address(endpoints.host.as_ptr())) == Ok(false)
}

/// Waits for a failed copy; `false` if some of it may still be in flight.
#[cold]
fn drain(driver: &Driver, buffers: &StagingBuffers) -> bool {
    let settled = driver.synchronize_stream(buffers.stream()).or_else(|_| driver.synchronize_context());
    settled.map_or_else(ends_all_work, |()| true)
}

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

    /// The end of a part, in bytes.
    fn end(&self, part: usize) -> usize {
        self.bytes.min((part + 1) * SLOT)
    }

    fn queue(&self, part: usize, to: Side) -> Result<(), DriverFailure> {
        let at = part * SLOT;
        let bytes = self.end(part) - at;
        let slot = driver::address(self.buffers.slots().wrapping_add(at % staging_buffers::BYTES));
        let device = driver::address(self.device.as_ptr()) + at as u64;
        let (to, from) = if to == Side::Device { (device, slot) } else { (slot, device) };
        let stream = self.buffers.stream();
        // SAFETY: no thread uses the slot before its event, and the part is within the device block.
        unsafe { self.driver.copy_async(to, from, bytes, stream.handle()) }?;
        self.buffers.events[part % SLOTS].record(self.driver, stream)
    }

    fn wait(&self, part: usize) -> Result<(), DriverFailure> {
        self.buffers.events[part % SLOTS].wait(self.driver)
    }
}
