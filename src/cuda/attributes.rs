//! Queries of devices.
#![expect(unsafe_code, reason = "the driver is queried")]

use std::ffi::c_int;

use cudarc::driver::sys::CUdevice_attribute::{self, CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED};

use super::driver::{Driver, output};
use super::status;
use crate::error::DriverFailure;

/// `None`: the driver does not know it.
pub fn attribute(driver: &Driver, device: c_int, attribute: CUdevice_attribute) -> Option<c_int> {
    // SAFETY: the driver refuses unknown devices and attributes.
    output(0, |value| unsafe { driver.device_attribute(value, attribute, device) }).ok()
}

/// The failure of each registration where the device has none, as under confidential computing. `None`: the driver decides.
pub fn refusal(driver: &Driver, device: c_int) -> Option<DriverFailure> {
    let supported = attribute(driver, device, CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
    (supported == Some(0)).then_some(DriverFailure { call: "cuMemHostRegister_v2", status: status::NOT_SUPPORTED })
}
