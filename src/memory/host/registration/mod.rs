//! Pageable host memory that `syncedmem_pin` has page-locked where it is.
//!
//! To end a registration is to wait for its context. So a block that its object lets go stays registered, and lies idle with the
//! page-locked ones: a trim ends it, a lack of memory, or the next thread that page-locks memory beyond the budget. What is lent
//! is its owner's to free as soon as the object lets it go: its registration ends there and then.
#![expect(unsafe_code, reason = "memory is registered, and freed")]

mod pin;

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::Owned;
use crate::cuda::{self, context, driver_in_use};
use crate::error::{DriverFailure, Error};
use crate::memory::cache;
use crate::memory::cache::budget;
use crate::memory::driver::host_register::Registration;
use crate::platform::address_hash::{AddressMap, address_map};
use crate::platform::sync::{Lock, locked_static};
use crate::platform::text::warn_once;
use crate::settings;
use crate::state::kind::Kind;
pub use pin::{hold, pin, unpin};

/// What is known about a range of host memory.
#[derive(Clone, Copy)]
struct Entry {
    bytes: usize,
    stage: Stage,
    /// How many objects are among the holders that keep it registered.
    pins: u32,
    /// The block, once its object has let it go: it is freed when it is registered no more.
    left: Option<Owned>,
}

#[derive(Clone, Copy)]
enum Stage {
    /// A thread is registering or unregistering it.
    Busy,
    Registered(Registration),
}

struct Table {
    /// By address of the memory.
    entries: AddressMap<Entry>,
    /// The address of the memory that an object keeps registered, by the object's own.
    holders: AddressMap<usize>,
}

// SAFETY: the addresses are numbers here: what they lead to is used by those whom the entries' stages give leave.
unsafe impl Send for Table {}

locked_static! {
    static TABLE: Lock<Table> = Lock::new(Table { entries: address_map(), holders: address_map() });
}

/// How many entries there are, readable without the lock.
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn with_table<R>(work: impl FnOnce(&mut Table) -> R) -> R {
    TABLE.with(|table| {
        let result = work(table);
        COUNT.store(table.entries.len(), Ordering::Relaxed);
        result
    })
}

/// Whether any memory is registered, or is just being registered.
#[inline]
pub fn is_used() -> bool {
    // Relaxed: who registers an object's memory and who lets it go are ordered by the object.
    COUNT.load(Ordering::Relaxed) != 0
}

/// Whether the memory at `address` is registered, by this library's account.
pub fn is_registered(address: NonNull<c_void>) -> bool {
    let registered = |entry: &Entry| matches!(entry.stage, Stage::Registered(_));
    is_used() && with_table(|table| table.entries.get(&key(address)).is_some_and(registered))
}

/// How many bytes of objects are registered.
pub fn held() -> u64 {
    let registered = |entry: &&Entry| matches!(entry.stage, Stage::Registered(_)) && entry.left.is_none();
    with_table(|table| table.entries.values().filter(registered).map(|entry| entry.bytes as u64).sum())
}

/// How many bytes of blocks that no object holds are registered.
pub fn idle() -> u64 {
    let idle =
        |table: &mut Table| table.entries.values().filter_map(|entry| entry.left).map(|left| left.bytes as u64).sum();
    if is_used() { with_table(idle) } else { 0 }
}

/// Forgets what a reset of the device has ended.
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

/// Forgets memory that is registered no more.
fn forget(address: NonNull<c_void>) {
    with_table(|table| table.remove(address)).into_iter().for_each(free_left);
}

/// Frees the block of an entry that is no more, if its object has let it go.
fn free_left(entry: Entry) {
    if let Some(left) = entry.left {
        // SAFETY: its object has given it up.
        unsafe { super::free_idle(left) };
    }
}

impl Table {
    /// Counts an object among those that keep the memory at `address` registered, unless it keeps some already. There is
    /// room for it.
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

    /// Makes the first block behind `last` that lies idle and is `wanted` this thread's.
    fn take_left(&mut self, last: usize, wanted: impl Fn(&Registration) -> bool) -> Option<(Registration, Entry)> {
        let idle = self.entries.iter_mut().filter_map(|(&key, entry)| match entry.stage {
            // What another object borrows still, and keeps registered, is not.
            Stage::Registered(registration) if key > last && entry.left.is_some() && entry.pins == 0 => {
                wanted(&registration).then_some((key, registration, entry))
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

/// Ends what `holder` has to do with the memory at `address`, which it does not refer to any more; `owned` if it is its
/// block. Says whether that may be freed now; if not, this module frees it later.
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
        // At exit and in a forked child what is registered stays.
        (Ok(_), None) => true,
        (Ok((registration, bytes)), Some(driver)) => {
            // Its owner frees it whatever the driver says.
            registration.end_at_once(driver).unwrap_or_else(report_once);
            budget::withdraw_pinned(bytes);
            forget(address);
            true
        }
    }
}

/// Ends the registration of every block that lies idle, frees it, and says how many bytes that were.
pub fn give_back_all() -> u64 {
    give_back_those(|_| true)
}

/// As [`give_back_all`], but for what may be in use on another device than the thread's current one.
pub fn give_back_near() -> u64 {
    if !is_used() {
        return 0;
    }
    let here = driver_in_use().and_then(|driver| context::current_device(driver).ok());
    give_back_those(|registration| Some(registration.device()) == here)
}

/// Gives back what lies idle if that is more than the budget of page-locked memory.
pub fn reduce() {
    if is_beyond_budget() {
        give_back_all();
    }
}

/// As [`reduce`], but for what may be in use on another device than the thread's current one.
pub fn reduce_near() {
    if is_beyond_budget() {
        give_back_near();
    }
}

fn is_beyond_budget() -> bool {
    let budget = if settings::pools() { budget::host(Kind::Pinned) } else { 0 };
    is_used() && idle() > budget.saturating_sub(cache::device::idle(Kind::Pinned))
}

fn give_back_those(wanted: impl Fn(&Registration) -> bool) -> u64 {
    let Some(driver) = driver_in_use().filter(|_| is_used()) else { return 0 };
    let (mut bytes, mut last) = (0, 0);
    // In the order of their addresses: each is tried once.
    while let Some((registration, entry)) = with_table(|table| table.take_left(last, &wanted)) {
        let Some(left) = entry.left else { continue };
        last = key(left.address);
        match registration.end(driver) {
            Ok(()) => {
                bytes += left.bytes as u64;
                budget::withdraw_pinned(entry.bytes);
                forget(left.address);
            }
            // While the driver takes it for page-locked, another block at its address would be copied from where this one was.
            Err(failure) => {
                report_once(failure);
                with_table(|table| table.set(left.address, Stage::Registered(registration)));
            }
        }
    }
    bytes
}

/// Writes the first failure to standard error that no status reports: without a sentence, its cause is never looked for.
fn report_once(failure: DriverFailure) {
    static REPORTED: AtomicBool = AtomicBool::new(false);
    if cuda::may_be_used() {
        warn_once(&REPORTED, format_args!("memory could not be unregistered: {}", Error::from(failure)));
    }
}
