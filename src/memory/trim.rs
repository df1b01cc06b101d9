//! Idle memory by kind: how much there is, how much may be, and how it is given back.

use syncedmem_core::kind::Kind;

use super::arena;
use super::arena::device::Devices;
use super::cache;
use super::cache::budget;
use crate::cuda::context::current_device;
use crate::cuda::driver_in_use;

/// Gives back all idle memory of a kind, after a wait for the blocks' contexts. Returns its bytes.
pub fn trim(kind: Kind) -> u64 {
    give_back(kind, cache::device::give_back_all, Devices::All)
}

/// [`trim`] for the thread's current device alone, without a wait for others.
pub fn trim_current_device(kind: Kind) -> u64 {
    let current = driver_in_use().and_then(|driver| current_device(driver).ok());
    let here = current.map_or(Devices::Unknown, Devices::Only);
    give_back(kind, cache::device::give_back_near, here)
}

fn give_back(kind: Kind, from_driver: impl Fn(Kind) -> u64, devices: Devices) -> u64 {
    match kind {
        Kind::Pageable => cache::host::give_back_all() + arena::host::release_idle(),
        Kind::Pinned => from_driver(kind),
        Kind::Device => arena::device::release_idle(devices) + from_driver(kind),
    }
}

pub fn idle(kind: Kind) -> u64 {
    match kind {
        Kind::Pageable => cache::host::idle(),
        Kind::Pinned | Kind::Device => cache::device::idle(kind),
    }
}

/// The most idle bytes; of device memory, on the device with the largest budget.
pub fn budget(kind: Kind) -> u64 {
    match kind {
        Kind::Pageable => budget::host(kind),
        Kind::Pinned | Kind::Device => cache::device::budget(kind),
    }
}

pub fn reduce(kind: Kind) {
    match kind {
        Kind::Pageable => cache::host::reduce(),
        Kind::Pinned | Kind::Device => cache::device::reduce(kind),
    }
}
