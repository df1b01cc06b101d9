//! What of the devices' memory is in use beyond this library: by other libraries of the process, and by other processes.
#![expect(unsafe_code, reason = "the driver is asked what is free")]

use super::blocks::{self, Used};
use super::record::Record;
use crate::cuda::context::ContextGuard;
use crate::cuda::driver_in_use;
use crate::memory::cache::device;

/// Writes the ordinal of each device that has blocks of this library's, and how many bytes are in use there that are not
/// ours. Returns how many devices that are; where the driver does not answer, a device is left out.
pub fn not_ours(places: &mut [(i32, u64)]) -> usize {
    let Some(driver) = driver_in_use() else { return 0 };
    let mut used = [Used { ordinal: 0, bytes: 0, block: None }; DEVICES];
    let known = blocks::used(&mut used);
    let mut count = 0;
    for device in used[..known].iter().take(places.len()) {
        let is_there = |&(address, record): &(_, Record)| record.is_alive(driver, address) == Ok(true);
        let Some((_, record)) = device.block.filter(is_there) else { continue };
        let Ok(_guard) = ContextGuard::enter(driver, record.context) else { continue };
        let (mut free, mut total) = (0, 0);
        // SAFETY: both are writable.
        if unsafe { driver.mem_info(&mut free, &mut total) }.is_err() {
            continue;
        }
        let ours = device.bytes + device::idle_on(device.ordinal);
        places[count] = (device.ordinal, (total as u64).saturating_sub(free as u64).saturating_sub(ours));
        count += 1;
    }
    count
}

/// More devices than any machine has.
const DEVICES: usize = 64;
