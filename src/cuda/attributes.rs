//! Whether the driver registers host memory for a device, queried once.
#![expect(unsafe_code, reason = "the driver is queried")]

use std::ffi::c_int;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use cudarc::driver::sys::CUdevice_attribute::{self, CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED};

use super::MOST_DEVICES;
use super::driver::{Driver, output};
use super::status;
use crate::error::DriverFailure;

const UNKNOWN: u8 = 0;
const REGISTERS: u8 = 1;
const REFUSES: u8 = 2;

static KNOWN: [AtomicU8; MOST_DEVICES] = [const { AtomicU8::new(UNKNOWN) }; MOST_DEVICES];

/// `None`: the driver does not know it.
pub fn attribute(driver: &Driver, device: c_int, attribute: CUdevice_attribute) -> Option<c_int> {
    // SAFETY: the driver refuses unknown devices and attributes.
    output(0, |value| unsafe { driver.device_attribute(value, attribute, device) }).ok()
}

/// The failure of each registration where the device has none, as under confidential computing. `None`: the driver decides.
pub fn refusal(driver: &Driver, device: c_int) -> Option<DriverFailure> {
    let place = usize::try_from(device).ok().and_then(|device| KNOWN.get(device));
    let known = match place.map_or(UNKNOWN, |place| place.load(Relaxed)) {
        UNKNOWN => {
            let supported = attribute(driver, device, CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
            if supported == Some(0) { REFUSES } else { REGISTERS }
        }
        known => known,
    };
    place.inspect(|place| place.store(known, Relaxed));
    (known == REFUSES).then_some(DriverFailure { call: "cuMemHostRegister_v2", status: status::NOT_SUPPORTED })
}
