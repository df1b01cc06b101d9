//! What is alive, to the byte.

use crate::subject::LENT;
use crate::support::gpu::Gpu;
use crate::support::object::Object;
use crate::support::pools::{ALL, DEVICE, idle, trim};
use crate::support::{last_error, pools};

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

/// With every object ended and the pools trimmed, nothing is left but what so many workers hold themselves.
pub fn balance(gpu: &Gpu, before: &Ledger, workers: usize) -> Result<(), String> {
    trim(ALL);
    let (account, violations) = (gpu.account(), gpu.violations());
    let device_bytes = before.device_bytes + workers * LENT;
    for (what, is, should_be) in [
        ("bytes lie idle", idle(ALL), 0),
        ("bytes on the devices", account.device_bytes, device_bytes),
        ("bytes are page-locked", account.pinned_bytes, before.pinned_bytes),
        ("blocks are registered", account.registered_blocks, 0),
        ("streams are left", account.streams, 0),
        ("rules of the driver were broken", violations.0, before.violations),
    ] {
        if is != should_be {
            let rules = &violations.1[..violations.1.len().min(400)];
            return Err(format!("{is} {what}, should be {should_be}; {account:?} {rules}"));
        }
    }
    if account.events > 256 {
        return Err(format!("{} events are left", account.events));
    }
    Ok(())
}

/// Somebody else takes what is free on device 0. What lies idle there is given back when it is needed.
pub fn squeeze(gpu: &Gpu) -> Result<(), String> {
    pools::set_budget(DEVICE, 64 << 20);
    let idle_before = idle(DEVICE);
    let (mut free, mut total) = (0, 0);
    assert_eq!(gpu.within(0, || gpu.cuMemGetInfo_v2(&mut free, &mut total)), 0);
    let Some(taken) = free.checked_sub(1000).filter(|&taken| taken > 0) else { return Ok(()) };
    let taken = gpu.block(taken);
    // All of it may be device 1's.
    let mut all = Object::new(2000);
    let outcome = all.gpu_data();
    let idle_now = idle(DEVICE);
    drop(taken);
    match outcome {
        Ok(_) => Ok(()),
        // With nothing idle on that device there is nothing to give back.
        Err(_) if idle_now == 0 => Ok(()),
        Err(_) => Err(format!("{idle_now} of {idle_before} bytes lie idle, and yet: {}", last_error())),
    }
}
