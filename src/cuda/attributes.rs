//! How each device treats host memory, queried once.
//!
//! The driver has no attribute for confidential computing: there, and in some virtual machines (WSL2 among them), it refuses
//! `cuMemHostRegister`, which is remembered.
#![expect(unsafe_code, reason = "the driver is queried")]

use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use cudarc::driver::sys::CUdevice_attribute::{self, *};

use super::MOST_DEVICES;
use super::driver::{Driver, output};
use super::status;
use crate::error::DriverFailure;

const QUERIED: u32 = 1;
const INTEGRATED: u32 = 2;
const HOST_PAGE_TABLES: u32 = 4;
const REGISTERS_NOTHING: u32 = 8;
/// From this bit up: the status with which the driver refused to register memory.
const REFUSAL: u32 = 16;

static KNOWN: [AtomicU32; MOST_DEVICES] = [const { AtomicU32::new(0) }; MOST_DEVICES];

fn place(device: c_int) -> Option<&'static AtomicU32> {
    KNOWN.get(usize::try_from(device).ok()?)
}

fn known(driver: &Driver, device: c_int) -> u32 {
    let place = place(device);
    let known = place.map_or(0, |place| place.load(Relaxed));
    if known & QUERIED != 0 {
        return known;
    }
    let is = |wanted, value| attribute(driver, device, wanted) == Some(value);
    let mut found = QUERIED | known;
    for (bit, holds) in [
        (INTEGRATED, is(CU_DEVICE_ATTRIBUTE_INTEGRATED, 1)),
        (HOST_PAGE_TABLES, is(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, 1)),
        (REGISTERS_NOTHING, is(CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 0)),
    ] {
        found |= if holds { bit } else { 0 };
    }
    place.map_or(found, |place| place.fetch_or(found, Relaxed) | found)
}

/// `None`: the driver does not know it.
pub fn attribute(driver: &Driver, device: c_int, attribute: CUdevice_attribute) -> Option<c_int> {
    // SAFETY: the driver refuses unknown devices and attributes.
    output(0, |value| unsafe { driver.device_attribute(value, attribute, device) }).ok()
}

/// The reason, as the end of a sentence; `None`: the library may register memory by itself.
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

/// `None`: the driver is not known to refuse to register memory.
pub fn refusal(driver: &Driver, device: c_int) -> Option<DriverFailure> {
    let known = known(driver, device);
    let status = match known / REFUSAL {
        0 if known & REGISTERS_NOTHING == 0 => return None,
        0 => status::NOT_SUPPORTED,
        status => status as c_int,
    };
    Some(DriverFailure { call: "cuMemHostRegister_v2", status })
}

/// Remembers a refusal whose reason is permanent.
#[cold]
pub fn note_refusal(device: c_int, failure: DriverFailure) {
    if let (status::NOT_SUPPORTED | status::NOT_PERMITTED, Some(place)) = (failure.status, place(device)) {
        place.fetch_or(failure.status as u32 * REFUSAL, Relaxed);
    }
}
