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
pub fn rules(gpu: &Gpu, before: &mut Ledger) -> Result<(), String> {
    let (now, text) = gpu.violations();
    let new = now - std::mem::replace(&mut before.violations, now);
    let lines = text.lines().skip(now - new).take(6).collect::<Vec<_>>().join("; ");
    if new == 0 { Ok(()) } else { Err(format!("{new} rules of the driver were broken: {lines}")) }
}

/// With every object ended and the pools trimmed, nothing is left but what so many workers hold themselves.
pub fn balance(gpu: &Gpu, before: &Ledger, workers: usize) -> Result<(), String> {
    // What the library's own thread has taken out to give it back is given back soon.
    pools::set_age(10.0);
    let start = Instant::now();
    loop {
        trim(ALL);
        match differences(gpu, before, workers) {
            Err(_) if start.elapsed() < Duration::from_secs(2) => std::thread::sleep(Duration::from_millis(1)),
            outcome => return outcome,
        }
    }
}

fn differences(gpu: &Gpu, before: &Ledger, workers: usize) -> Result<(), String> {
    let account = gpu.account();
    for (what, is, should_be) in [
        ("bytes lie idle", idle(ALL), 0),
        ("bytes on the devices", account.device_bytes, before.device_bytes + workers * LENT),
        ("bytes are page-locked", account.pinned_bytes, before.pinned_bytes),
        ("blocks are registered", account.registered_blocks, 0),
        ("streams are left", account.streams, 0),
    ] {
        if is != should_be {
            return Err(format!("{is} {what}, should be {should_be}; {account:?}"));
        }
    }
    if account.events > 256 {
        return Err(format!("{} events are left", account.events));
    }
    Ok(())
}

/// Another program takes what is free on device 0. What lies idle there is given back when it is needed, and what may be
/// evicted goes after that. What lies idle on another device may be in use there and stays, so there is nothing of that kind.
pub fn squeeze(gpu: &Gpu, bytes: usize) -> Result<(), String> {
    pools::set_budget(DEVICE, 64 << 20);
    trim(DEVICE);
    // Where the device is full already, fewer of these lie idle.
    let lay_down = |size: usize| Object::new(size * 1000).gpu_data().is_ok();
    gpu.within(0, || (1..=8).take_while(|&size| lay_down(size)).count());
    let idle_before = idle(DEVICE);
    let (mut free, mut total) = (0, 0);
    assert_eq!(gpu.within(0, || gpu.cuMemGetInfo_v2(&mut free, &mut total)), 0);
    let Some(taken) = free.checked_sub(1000).filter(|&taken| taken > 0) else { return Ok(()) };
    let taken = gpu.block(taken);
    let mut object = Object::new(bytes);
    let outcome = object.gpu_data();
    drop(taken);
    match (outcome, idle(DEVICE)) {
        // With nothing idle, and nothing that may be evicted, there is nothing to give back.
        (Ok(_), _) | (Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY), 0) => Ok(()),
        (Err(status), now) => Err(format!("{status:?}: {now} of {idle_before} bytes lie idle; {}", last_error())),
    }
}
