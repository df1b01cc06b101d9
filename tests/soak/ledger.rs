//! What is alive, to the byte.

use std::time::{Duration, Instant};

use crate::subject::LENT;
use crate::support::gpu::Gpu;
use crate::support::object::Object;
use crate::support::pools::{ALL, DEVICE, idle, trim};
use crate::support::{SYNCEDMEM_ERROR_OUT_OF_MEMORY, last_error, pools};

/// What is alive before anything is done.
pub struct Ledger {
    device_bytes: usize,
    pinned_bytes: usize,
    violations: usize,
}

impl Ledger {
    pub fn of(gpu: &Gpu) -> Ledger {
        let account = gpu.account();
        Ledger {
            device_bytes: account.device_bytes,
            pinned_bytes: account.pinned_bytes,
            violations: gpu.violations().0,
        }
    }
}

/// No more rules of the driver's were broken than were before.
pub fn check_rules(gpu: &Gpu, before: &mut Ledger) {
    let (now, text) = gpu.violations();
    let new = now - std::mem::replace(&mut before.violations, now);
    let lines = text.lines().skip(now - new).take(6).collect::<Vec<_>>().join("; ");
    assert_eq!(new, 0, "rules of the driver were broken: {lines}");
}

/// With every object ended and the pools trimmed, nothing is left but what so many workers hold themselves.
pub fn check_balance(gpu: &Gpu, before: &Ledger, workers: usize) {
    let is = || {
        trim(ALL);
        let account = gpu.account();
        let [device, pinned] = [account.device_bytes, account.pinned_bytes];
        (idle(ALL), device, pinned, account.registered_blocks, account.streams, account.events.saturating_sub(256))
    };
    let should_be = (0, before.device_bytes + workers * LENT, before.pinned_bytes, 0, 0, 0);
    // What the library's own thread has taken out to give it back is given back soon.
    pools::set_age(10.0);
    let start = Instant::now();
    while is() != should_be && start.elapsed() < Duration::from_secs(2) {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(is(), should_be, "idle, device and page-locked bytes, registered blocks, streams, events beyond 256");
}

/// Another program takes what is free on device 0. What lies idle there is given back when it is needed, and what may be
/// evicted goes after that. What lies idle on another device may be in use there and stays, so there is nothing of that kind.
pub fn squeeze(gpu: &Gpu, bytes: usize) {
    pools::set_budget(64 << 20);
    trim(DEVICE);
    // Where the device is full already, fewer of these lie idle.
    let lay_down = |size: usize| Object::new(size * 1000).gpu_data().is_ok();
    gpu.within(0, || (1..=8).take_while(|&size| lay_down(size)).count());
    let idle_before = idle(DEVICE);
    let (mut free, mut total) = (0, 0);
    assert_eq!(gpu.within(0, || gpu.cuMemGetInfo_v2(&mut free, &mut total)), 0);
    let Some(taken) = free.checked_sub(1000).filter(|&taken| taken > 0) else { return };
    let taken = gpu.block(taken);
    let mut object = Object::new(bytes);
    let outcome = object.gpu_data();
    drop(taken);
    // With nothing idle, and nothing that may be evicted, there is nothing to give back.
    let nothing_to_give = idle(DEVICE) == 0 && outcome == Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY);
    assert!(outcome.is_ok() || nothing_to_give, "{outcome:?} of {idle_before} idle bytes; {}", last_error());
}
