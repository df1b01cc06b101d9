//! What a device makes of host memory: asked of the driver once for each device, the first time that a copy is to be staged or
//! memory to be registered.
//!
//! The driver has no attribute for confidential computing. There, as in some virtual machines (WSL2 among them), it refuses
//! `cuMemHostRegister` as not supported: that refusal stands for it.
#![expect(unsafe_code, reason = "the driver is asked")]

use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use cudarc::driver::sys::CUdevice_attribute::{self, *};

use super::driver::Driver;
use super::status;
use crate::error::DriverFailure;

/// More devices than any machine has; one beyond is asked each time.
const DEVICES: usize = 64;

const ASKED: u32 = 1;
const INTEGRATED: u32 = 2;
const HOST_PAGE_TABLES: u32 = 4;
const REGISTERS_NOTHING: u32 = 8;
/// From here on, the status that it refused to register memory with.
const REFUSAL: u32 = 16;

static KNOWN: [AtomicU32; DEVICES] = [const { AtomicU32::new(0) }; DEVICES];

fn place(device: c_int) -> Option<&'static AtomicU32> {
    KNOWN.get(usize::try_from(device).ok()?)
}

fn known(driver: &Driver, device: c_int) -> u32 {
    let place = place(device);
    let known = place.map_or(0, |place| place.load(Relaxed));
    if known & ASKED != 0 {
        return known;
    }
    let is = |attribute, value| ask(driver, device, attribute) == Some(value);
    let mut found = ASKED | known;
    for (bit, holds) in [
        (INTEGRATED, is(CU_DEVICE_ATTRIBUTE_INTEGRATED, 1)),
        (HOST_PAGE_TABLES, is(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, 1)),
        (REGISTERS_NOTHING, is(CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 0)),
    ] {
        found |= if holds { bit } else { 0 };
    }
    // Relaxed: two threads that both ask get the same.
    place.map_or(found, |place| place.fetch_or(found, Relaxed) | found)
}

/// The value of an attribute; `None` if the driver does not know it.
pub fn ask(driver: &Driver, device: c_int, attribute: CUdevice_attribute) -> Option<c_int> {
    let mut value = 0;
    // SAFETY: `value` is writable. A number that is no device, or no attribute of this driver's, is refused.
    unsafe { driver.device_attribute(&mut value, attribute, device) }.ok().map(|()| value)
}

/// Why pageable memory is not copied through page-locked slots to and from a device, nor page-locked for it unless its user
/// asks: the rest of a sentence about it. `None`: it may be.
pub fn why_not_registered(driver: &Driver, device: c_int) -> Option<&'static str> {
    let known = known(driver, device);
    if known & INTEGRATED != 0 {
        Some("it is integrated, and has the host's own memory")
    } else if known & HOST_PAGE_TABLES != 0 {
        Some("it reads pageable memory by itself, through the host's page tables")
    } else if known & REGISTERS_NOTHING != 0 || known >= REFUSAL {
        Some("its driver does not register host memory, as under confidential computing")
    } else {
        None
    }
}

/// The failure with which the driver would refuse to register memory for a device, as far as that is known.
pub fn refusal(driver: &Driver, device: c_int) -> Option<DriverFailure> {
    let known = known(driver, device);
    let status = match known / REFUSAL {
        0 if known & REGISTERS_NOTHING == 0 => return None,
        0 => status::NOT_SUPPORTED,
        status => status as c_int,
    };
    Some(DriverFailure { call: "cuMemHostRegister_v2", status })
}

/// Remembers that the driver refused to register ordinary memory, if that is for good.
#[cold]
pub fn note_refusal(device: c_int, failure: DriverFailure) {
    if let (status::NOT_SUPPORTED | status::NOT_PERMITTED, Some(place)) = (failure.status, place(device)) {
        place.fetch_or(failure.status as u32 * REFUSAL, Relaxed);
    }
}
