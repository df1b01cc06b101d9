//! Pageable host memory that `syncedmem_pin` has page-locked where it is.
//!
//! The end of a registration waits for the context. So an owned block that its object frees stays registered and idle
//! until a trim, a lack of memory, or a page-lock beyond the budget. The owner of borrowed memory may free it once the
//! object releases it, so its registration ends at once.
#![expect(unsafe_code, reason = "memory is registered, and freed")]

mod pin;

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use syncedmem_trace::address_hash::{AddressMap, address_map};
use syncedmem_trace::kind::Kind;

use super::Owned;
use crate::cuda::{self, context, driver_in_use};
use crate::error::{DriverFailure, Error};
use crate::memory::cache;
use crate::memory::cache::budget;
use crate::memory::driver::host_register::Registration;
use crate::platform::sync::{Lock, locked_static};
use crate::platform::text::warn_once;
use crate::settings;
use crate::state::flags;
pub use pin::{hold, pin, unpin};

#[derive(Clone, Copy)]
struct Entry {
    bytes: usize,
    stage: Stage,
    /// Number of holders.
    pins: u32,
    /// The block, once its object has freed it.
    left: Option<Owned>,
}

#[derive(Clone, Copy)]
enum Stage {
    /// A thread changes it.
    Busy,
    Registered(Registration),
}

struct Table {
    /// By address.
    entries: AddressMap<Entry>,
    /// The memory that each object keeps registered.
    holders: AddressMap<usize>,
}

// SAFETY: only the thread that sets an entry `Busy` or removes it uses the memory.
unsafe impl Send for Table {}

locked_static! {
    static TABLE: Lock<Table> = Lock::new(Table { entries: address_map(), holders: address_map() });
}

/// `entries.len()`, readable without the lock.
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn with_table<R>(work: impl FnOnce(&mut Table) -> R) -> R {
    TABLE.with(|table| {
        let result = work(table);
        let count = table.entries.len();
        flags::count_kept(COUNT.load(Ordering::Relaxed), count);
        COUNT.store(count, Ordering::Relaxed);
        result
    })
}

#[inline]
pub fn is_used() -> bool {
    // Relaxed: the object's claim orders the threads that register and release its memory.
    COUNT.load(Ordering::Relaxed) != 0
}

/// Whether this library registered it.
pub fn is_registered(address: NonNull<c_void>) -> bool {
    let registered = |entry: &Entry| matches!(entry.stage, Stage::Registered(_));
    is_used() && with_table(|table| table.entries.get(&key(address)).is_some_and(registered))
}

/// Bytes that objects hold.
pub fn held() -> u64 {
    let registered = |entry: &&Entry| matches!(entry.stage, Stage::Registered(_)) && entry.left.is_none();
    with_table(|table| table.entries.values().filter(registered).map(|entry| entry.bytes as u64).sum())
}

pub fn idle() -> u64 {
    let idle =
        |table: &mut Table| table.entries.values().filter_map(|entry| entry.left).map(|left| left.bytes as u64).sum();
    if is_used() { with_table(idle) } else { 0 }
}

/// A reset of the device has ended `lost`.
#[cold]
fn lose(address: NonNull<c_void>, lost: Registration) {
    let same = |entry: &Entry| matches!(entry.stage, Stage::Registered(now) if now == lost);
    let entry =
        with_table(|table| table.entries.get(&key(address)).is_some_and(same).then(|| table.remove(address)).flatten());
    if let Some(entry) = entry {
        budget::withdraw_pinned(entry.bytes);
        free_left(entry);
    }
}

fn forget(address: NonNull<c_void>) {
    with_table(|table| table.remove(address)).into_iter().for_each(free_left);
}

fn free_left(entry: Entry) {
    if let Some(left) = entry.left {
        // SAFETY: its object freed it, and the entry is removed.
        unsafe { super::free_idle(left) };
    }
}

impl Table {
    /// `holder` keeps the memory registered, unless it keeps some. The caller reserved room.
    fn hold(&mut self, holder: usize, address: NonNull<c_void>) {
        if let Some(entry) = self.entries.get_mut(&key(address)).filter(|_| !self.holders.contains_key(&holder)) {
            entry.pins += 1;
            self.holders.insert(holder, key(address));
        }
    }

    fn remove(&mut self, address: NonNull<c_void>) -> Option<Entry> {
        self.holders.retain(|_, held| *held != key(address));
        self.entries.remove(&key(address))
    }

    /// Sets the first `wanted` idle block behind `last` to `Busy`, and returns it.
    fn take_left(
        &mut self,
        last: usize,
        wanted: impl Fn(usize, &Registration) -> bool,
    ) -> Option<(Registration, Entry)> {
        let idle = self.entries.iter_mut().filter_map(|(&key, entry)| match entry.stage {
            // With `pins`, another object still borrows it.
            Stage::Registered(registration) if key > last && entry.left.is_some() && entry.pins == 0 => {
                wanted(key, &registration).then_some((key, registration, entry))
            }
            _ => None,
        });
        let (_, registration, entry) = idle.min_by_key(|&(key, ..)| key)?;
        entry.stage = Stage::Busy;
        Some((registration, *entry))
    }

    fn set(&mut self, address: NonNull<c_void>, stage: Stage) {
        if let Some(entry) = self.entries.get_mut(&key(address)) {
            entry.stage = stage;
        }
    }
}

fn key(address: NonNull<c_void>) -> usize {
    address.addr().get()
}

/// Ends `holder`'s use; `owned` is the block that it owned. `false`: this module frees that later, not the caller.
#[cold]
pub fn let_go(holder: usize, address: NonNull<c_void>, owned: Option<Owned>) -> bool {
    let next = with_table(|table| {
        let held = table.holders.get(&holder) == Some(&key(address));
        if held {
            table.holders.remove(&holder);
        }
        let Some(entry) = table.entries.get_mut(&key(address)) else { return Err(true) };
        entry.pins -= u32::from(held);
        if owned.is_some() {
            entry.left = owned;
            return Err(false);
        }
        match entry.stage {
            Stage::Registered(registration) if held && entry.pins == 0 && entry.left.is_none() => {
                entry.stage = Stage::Busy;
                Ok((registration, entry.bytes))
            }
            _ => Err(true),
        }
    });
    match (next, driver_in_use()) {
        (Err(is_free), _) => is_free,
        // At exit and in a forked child memory stays registered.
        (Ok(_), None) => true,
        (Ok((registration, bytes)), Some(driver)) => {
            // Also after a failure the owner frees the memory.
            registration.end_at_once(driver).unwrap_or_else(report_once);
            budget::withdraw_pinned(bytes);
            forget(address);
            true
        }
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
    give_back_those(|at, _| at == key(address));
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
    let budget = if settings::pools() { budget::host(Kind::Pinned) } else { 0 };
    is_used() && idle() > budget.saturating_sub(cache::device::idle(Kind::Pinned))
}

fn give_back_those(wanted: impl Fn(usize, &Registration) -> bool) -> u64 {
    let Some(driver) = driver_in_use().filter(|_| is_used()) else { return 0 };
    let (mut bytes, mut last) = (0, 0);
    // In the order of addresses, so that each is tried once.
    while let Some((registration, entry)) = with_table(|table| table.take_left(last, &wanted)) {
        let Some(left) = entry.left else { continue };
        last = key(left.address);
        match registration.end(driver) {
            Ok(()) => {
                bytes += left.bytes as u64;
                budget::withdraw_pinned(entry.bytes);
                forget(left.address);
            }
            // It stays: the driver would take another block at its address for page-locked, and copy the old pages.
            Err(failure) => {
                report_once(failure);
                with_table(|table| table.set(left.address, Stage::Registered(registration)));
            }
        }
    }
    bytes
}

/// No status reports these failures.
fn report_once(failure: DriverFailure) {
    static REPORTED: AtomicBool = AtomicBool::new(false);
    if cuda::may_be_used() {
        warn_once(&REPORTED, format_args!("memory could not be unregistered: {}", Error::from(failure)));
    }
}
