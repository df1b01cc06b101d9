//! Device memory that others use: other libraries of the process, and other processes.

use super::blocks::{self, Used};
use super::record::Record;
use crate::cuda::context::ContextGuard;
use crate::cuda::{MOST_DEVICES, driver_in_use};
use crate::memory::cache::device;

/// Writes the ordinal of each device with blocks of this library, and the bytes there that others use. Returns the number of
/// devices. A device for which the driver does not answer is left out.
pub fn not_ours(places: &mut [(i32, u64)]) -> usize {
    let Some(driver) = driver_in_use() else { return 0 };
    let mut used = [Used { ordinal: 0, bytes: 0, block: None }; MOST_DEVICES];
    let known = blocks::used(&mut used);
    let mut count = 0;
    for device in used[..known].iter().take(places.len()) {
        let is_there = |&(address, record): &(_, Record)| record.is_alive(driver, address) == Ok(true);
        let Some((_, record)) = device.block.filter(is_there) else { continue };
        let Ok(_guard) = ContextGuard::enter(driver, record.context) else { continue };
        let Ok((free, total)) = driver.memory() else { continue };
        let ours = device.bytes + device::idle_on(device.ordinal);
        places[count] = (device.ordinal, total.saturating_sub(free).saturating_sub(ours));
        count += 1;
    }
    count
}
