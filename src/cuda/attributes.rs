//! Queries of devices.
#![expect(unsafe_code, reason = "the driver is queried")]

use std::ffi::c_int;

use cudarc::driver::sys::CUdevice_attribute;

use super::driver::{Driver, output};

/// `None` if the driver does not know the attribute.
pub fn attribute(driver: &Driver, device: c_int, attribute: CUdevice_attribute) -> Option<c_int> {
    // SAFETY: the driver refuses unknown devices and attributes.
    output(0, |value| unsafe { driver.device_attribute(value, attribute, device) }).ok()
}
