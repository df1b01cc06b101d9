//! Copies of pageable memory in pieces through a ring of page-locked slots, which the device reaches at its full speed
//! while several threads fill or empty them. Only where `SYNCEDMEM_STAGE_FROM` asks for it: no GPU has been measured yet.
//!
//! They are ordered as `cudaMemcpy`: each piece is a copy on the legacy default stream of the block's context. They are
//! done when they return, to the device too: to wait for the last pieces costs little beside the whole, and then neither
//! the ring nor the block has anything in flight. No copy of the device's ever touches the pageable memory itself.
#![expect(unsafe_code, reason = "the driver's functions are called")]

use std::ffi::c_uint;
use std::ptr::NonNull;

use cudarc::driver::sys::CUpointer_attribute;

use super::Ends;
use super::crew::{self, Crew, Job};
use super::ring::{self, Ring, SLOT, SLOTS};
use crate::cuda::capture;
use crate::cuda::context::Within;
use crate::cuda::driver::{self, Driver};
use crate::cuda::events::Event;
use crate::cuda::{blocks, ends_all_work, is_unknown_address, source};
use crate::error::{DriverFailure, Error};
use crate::head::Side;
use crate::settings;

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
    if !is_staged || ends.pinned || !is_pageable(driver, ends) {
        return Ok(Staged::No);
    }
    // Refused half-way, it would leave its ring behind: nothing could be waited for.
    capture::spare_legacy_stream(driver)?;
    let Some(ring) = Ring::of(driver, within) else { return Ok(Staged::No) };
    let Some(events) = Events::new(driver, within) else { return Ok(Staged::No) };
    let ring_start = ring.address.cast::<u8>().as_ptr();
    let job = Job { host: ends.host.cast().as_ptr(), ring: ring_start, bytes, to_ring: ends.to == Side::Device };
    let copy = |crew: &Crew| {
        let copy = Copy { driver, crew, events: &events.0, ring: ring_start, device: ends.device, bytes };
        match ends.to {
            Side::Device => copy.to_device(),
            Side::Host => copy.to_host(),
        }
    };
    // SAFETY: the caller guarantees the host's end; the ring is this copy's alone, and the device uses a slot only
    // between a piece's start and its event.
    let Some(result) = (unsafe { crew::lead(job, copy) }) else { return Ok(Staged::No) };
    match result {
        Ok(()) => events.keep(driver),
        Err(_) if drain(driver) => events.end(driver),
        Err(_) => {
            events.end(driver);
            ring.abandon();
            blocks::note_unsettled(ends.device, true);
        }
    }
    Ok(result.map(|()| Staged::Done)?)
}

/// Whether the host's memory is unknown to the driver. What its owner has page-locked is copied best as it is.
pub fn is_pageable(driver: &Driver, ends: Ends) -> bool {
    let mut kind: c_uint = 0;
    let attribute = CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    let address = driver::address(ends.host.as_ptr());
    // SAFETY: this attribute is an unsigned int, and `kind` is writable.
    let answer = unsafe { driver.pointer_attribute((&raw mut kind).cast(), attribute, address) };
    answer.is_err_and(is_unknown_address)
}

/// Waits until nothing of a copy that failed is in flight; `false` if that cannot be known.
#[cold]
fn drain(driver: &Driver) -> bool {
    // SAFETY: it asks for nothing.
    let wait = || source::settle(driver).or_else(|_| unsafe { driver.context_synchronize() });
    wait().map_or_else(ends_all_work, |()| true)
}

/// An event for each slot.
struct Events([Event; SLOTS]);

impl Events {
    fn new(driver: &Driver, within: &Within<'_>) -> Option<Events> {
        let mut made = [None; SLOTS];
        for event in &mut made {
            *event = Event::new(driver, within).ok();
        }
        if let [Some(a), Some(b), Some(c), Some(d)] = made {
            return Some(Events([a, b, c, d]));
        }
        made.into_iter().flatten().for_each(|event| event.keep(driver));
        None
    }

    fn keep(&self, driver: &Driver) {
        self.0.into_iter().for_each(|event| event.keep(driver));
    }

    fn end(&self, driver: &Driver) {
        self.0.into_iter().for_each(|event| event.end(driver));
    }
}

/// One copy.
struct Copy<'c> {
    driver: &'c Driver,
    crew: &'c Crew,
    events: &'c [Event; SLOTS],
    ring: *mut u8,
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
        let slot = driver::address(self.ring.wrapping_add(at % ring::BYTES));
        let device = driver::address(self.device.as_ptr()) + at as u64;
        let (to, from) = if to == Side::Device { (device, slot) } else { (slot, device) };
        let legacy = std::ptr::null_mut();
        // SAFETY: a slot that nobody uses until its event has come, and a part of the device's block.
        unsafe { self.driver.copy_async(to, from, bytes, legacy) }?;
        // SAFETY: null is the legacy default stream.
        unsafe { self.events[part % SLOTS].record(self.driver, legacy) }
    }

    /// Waits until the device has copied a part.
    fn wait(&self, part: usize) -> Result<(), DriverFailure> {
        self.events[part % SLOTS].wait(self.driver)
    }
}
