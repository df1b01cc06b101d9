//! Pageable host memory that `syncedmem_pin` has page-locked where it is: the part `registration` of its entry in the table
//! of blocks.
//!
//! The end of a registration waits for the context. So an owned block that its object frees stays registered and idle
//! until a trim, a lack of memory, or a page-lock beyond the budget. The owner of borrowed memory may free it once the
//! object releases it, so its registration ends at once.
#![expect(unsafe_code, reason = "memory is registered, and freed")]

mod pin;

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::AtomicBool;

use syncedmem_core::kind::Kind;

use crate::cuda::{self, context, driver_in_use};
use crate::error::{DriverFailure, Error};
use crate::memory::blocks::{self, Registered, Stage, Table};
use crate::memory::cache;
use crate::memory::cache::budget;
use crate::memory::driver::host_register::Registration;
use crate::platform::text::warn_once;
use crate::state::flags::{self, RECORDED};
pub use pin::{hold, pin, unpin};

/// Whether anything may be registered.
#[inline]
pub fn is_used() -> bool {
    flags::has(RECORDED)
}

/// Whether this library registered it.
pub fn is_registered(address: NonNull<c_void>) -> bool {
    is_used() && blocks::with(|table| registered(table, address).is_some_and(|it| it.done().is_some()))
}

fn registered(table: &mut Table, address: NonNull<c_void>) -> Option<&mut Registered> {
    table.get_mut(address)?.registration.as_mut()
}

/// Bytes that objects hold.
pub fn held() -> u64 {
    sum(|registered| (registered.done().is_some() && !registered.is_left).then_some(registered.bytes))
}

pub fn idle() -> u64 {
    if is_used() { sum(|registered| registered.is_left.then_some(registered.bytes)) } else { 0 }
}

fn sum(bytes: impl Fn(&Registered) -> Option<usize>) -> u64 {
    let of = |table: &mut Table| {
        let registrations = table.iter().filter_map(|(_, block)| block.registration.as_ref());
        registrations.filter_map(bytes).map(|bytes| bytes as u64).sum()
    };
    blocks::with(of)
}

/// A reset of the device has ended `lost`.
#[cold]
fn lose(address: NonNull<c_void>, lost: Registration) {
    let bytes = blocks::with(|table| {
        let same = registered(table, address).filter(|it| it.done() == Some(lost))?;
        // Another thread that finds it lost leaves it to this one.
        same.stage = Stage::Busy;
        Some(same.bytes)
    });
    if let Some(bytes) = bytes {
        budget::withdraw_pinned(bytes);
        forget(address);
    }
}

/// The memory is registered no more. A block that its object has freed goes back to its maker.
fn forget(address: NonNull<c_void>) {
    let left = blocks::with(|table| {
        let block = table.get(address)?;
        let left = (block.maker, block.bytes);
        if block.registration.as_ref().is_some_and(|registered| registered.is_left) {
            table.remove(address);
            return Some(left);
        }
        table.set_registration(address, None);
        None
    });
    if let Some((maker, bytes)) = left {
        // SAFETY: the block's object freed it, and the entry is removed.
        unsafe { crate::memory::give_back(address, maker, bytes) };
    }
}

fn set(address: NonNull<c_void>, stage: Stage) {
    blocks::with(|table| {
        if let Some(registered) = registered(table, address) {
            registered.stage = stage;
        }
    });
}

/// Sets the first `wanted` idle block behind `last` to `Busy`, and returns its address and registered bytes.
fn take_idle(
    table: &mut Table,
    last: usize,
    wanted: impl Fn(usize, &Registration) -> bool,
) -> Option<(usize, Registration, usize)> {
    let idle = table.iter_mut().filter_map(|(address, block)| {
        let registered = block.registration.as_mut()?;
        let registration = registered.done()?;
        // With holders, another object still borrows it.
        let is_idle = registered.is_left && registered.holders.is_empty();
        (address > last && is_idle && wanted(address, &registration)).then_some((address, registration, registered))
    });
    let (address, registration, registered) = idle.min_by_key(|&(address, ..)| address)?;
    registered.stage = Stage::Busy;
    Some((address, registration, registered.bytes))
}

/// Ends `holder`'s use of memory that it borrowed.
#[cold]
pub fn let_go(holder: usize, address: NonNull<c_void>) {
    let next = blocks::with(|table| {
        let registered = registered(table, address)?;
        let is_last = registered.let_go(holder) && registered.holders.is_empty() && !registered.is_left;
        let registration = registered.done().filter(|_| is_last)?;
        registered.stage = Stage::Busy;
        Some((registration, registered.bytes))
    });
    // At exit and in a forked child memory stays registered.
    if let (Some((registration, bytes)), Some(driver)) = (next, driver_in_use()) {
        // Also after a failure the owner frees the memory.
        registration.end_at_once(driver).unwrap_or_else(report_once);
        budget::withdraw_pinned(bytes);
        forget(address);
    }
}

/// Returns the freed bytes.
pub fn give_back_all() -> u64 {
    give_back_those(|_, _| true)
}

/// Only blocks registered on the thread's current device.
pub fn give_back_near() -> u64 {
    if !is_used() {
        return 0;
    }
    let here = driver_in_use().and_then(|driver| context::current_device(driver).ok());
    give_back_those(|_, registration| Some(registration.device()) == here)
}

pub fn give_back(address: NonNull<c_void>) {
    give_back_those(|at, _| at == address.addr().get());
}

pub fn reduce() {
    if is_beyond_budget() {
        give_back_all();
    }
}

/// As [`give_back_near`].
pub fn reduce_near() {
    if is_beyond_budget() {
        give_back_near();
    }
}

fn is_beyond_budget() -> bool {
    is_used() && idle() > budget::host(Kind::Pinned).saturating_sub(cache::device::idle(Kind::Pinned))
}

fn give_back_those(wanted: impl Fn(usize, &Registration) -> bool) -> u64 {
    let Some(driver) = driver_in_use().filter(|_| is_used()) else { return 0 };
    let (mut freed, mut last) = (0, 0);
    // In the order of addresses, so that each is tried once.
    while let Some((at, registration, bytes)) = blocks::with(|table| take_idle(table, last, &wanted)) {
        last = at;
        let Some(address) = NonNull::new(std::ptr::with_exposed_provenance_mut(at)) else { continue };
        match registration.end(driver) {
            Ok(()) => {
                freed += bytes as u64;
                budget::withdraw_pinned(bytes);
                forget(address);
            }
            // It stays: the driver would take another block at its address for page-locked, and copy the old pages.
            Err(failure) => {
                report_once(failure);
                set(address, Stage::Done(registration));
            }
        }
    }
    freed
}

/// No status reports these failures.
fn report_once(failure: DriverFailure) {
    static REPORTED: AtomicBool = AtomicBool::new(false);
    if cuda::may_be_used() {
        warn_once(&REPORTED, format_args!("memory could not be unregistered: {}", Error::from(failure)));
    }
}
