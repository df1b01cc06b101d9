//! Pageable host memory that `syncedmem_pin` has page-locked where it is.
//!
//! Nothing here says where memory came from: it is freed as ever, but not before its registration has ended.
#![expect(unsafe_code, reason = "memory is registered, and freed")]

mod pin;

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::Owned;
use crate::budget;
use crate::cuda::driver::Driver;
use crate::cuda::registering::Registration;
use crate::cuda::{self, driver_in_use};
use crate::error::Error;
use crate::spread::AddressMap;
use crate::sync::Lock;
use crate::text::{Text, to_stderr};
pub use pin::{is_pinned_for_copy, pin, unpin};

/// What is known about a range of host memory.
#[derive(Clone, Copy)]
struct Entry {
    bytes: usize,
    stage: Stage,
    /// How many objects are among the holders that keep it registered.
    pins: u32,
    /// The block, once its object has let it go.
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

#[cfg(not(loom))]
static TABLE: Lock<Table> = Lock::new(Table {
    entries: AddressMap::with_hasher(crate::spread::SPREADING),
    holders: AddressMap::with_hasher(crate::spread::SPREADING),
});
#[cfg(loom)]
loom::lazy_static! {
    static ref TABLE: Lock<Table> =
        Lock::new(Table { entries: AddressMap::default(), holders: AddressMap::default() });
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

/// How many bytes are registered.
pub fn held() -> u64 {
    let registered = |entry: &&Entry| matches!(entry.stage, Stage::Registered(_));
    with_table(|table| table.entries.values().filter(registered).map(|entry| entry.bytes as u64).sum())
}

/// Forgets what a reset of the device has ended.
#[cold]
fn lose(address: NonNull<c_void>, lost: Registration) {
    let bytes = with_table(|table| {
        let same = |entry: &&Entry| matches!(entry.stage, Stage::Registered(now) if now == lost);
        let bytes = table.entries.get(&key(address)).filter(same)?.bytes;
        table.remove(address);
        Some(bytes)
    });
    bytes.into_iter().for_each(budget::withdraw_pinned);
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

    fn remove(&mut self, address: NonNull<c_void>) {
        self.entries.remove(&key(address));
        self.holders.retain(|_, held| *held != key(address));
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

/// Whether there may be blocks that could not be freed because the driver would not end their registration.
static STUCK: AtomicBool = AtomicBool::new(false);

/// Ends the registration of memory that is `left`, or else is a caller's. Says whether the memory may be freed: while the
/// driver still takes it for page-locked, another block at its address would be copied from where this one was.
fn end(
    driver: &Driver,
    registration: Registration,
    address: NonNull<c_void>,
    bytes: usize,
    left: Option<Owned>,
) -> bool {
    match registration.end(driver) {
        Ok(()) => {
            budget::withdraw_pinned(bytes);
            true
        }
        Err(failure) => {
            say_once(format_args!("libsyncedmem: memory could not be unregistered: {}\n", Error::from(failure)));
            if left.is_some() {
                with_table(|table| {
                    table.set(address, Stage::Registered(registration));
                    if let Some(entry) = table.entries.get_mut(&key(address)) {
                        entry.left = left;
                    }
                });
                STUCK.store(true, Ordering::Relaxed);
            } else {
                budget::withdraw_pinned(bytes);
            }
            left.is_none()
        }
    }
}

/// Ends what `holder` has to do with the memory at `address`, which it does not refer to any more; `owned` if it is its
/// block. Says whether that may be freed now; if not, this module sees to it.
#[cold]
pub fn let_go(holder: usize, address: NonNull<c_void>, owned: Option<Owned>) -> bool {
    enum Next {
        Free,
        Keep,
        End(Registration, usize),
    }
    offer_one();
    let next = with_table(|table| {
        let held = table.holders.get(&holder) == Some(&key(address));
        if held {
            table.holders.remove(&holder);
        }
        let Some(entry) = table.entries.get_mut(&key(address)) else { return Next::Free };
        entry.pins -= u32::from(held);
        let last = held && entry.pins == 0;
        match entry.stage {
            // An object that borrows it is pinning or unpinning it still, against the rules.
            Stage::Busy if owned.is_some() => {
                STUCK.store(true, Ordering::Relaxed);
                entry.left = owned;
                Next::Keep
            }
            Stage::Registered(registration) if owned.is_some() || last => {
                entry.stage = Stage::Busy;
                Next::End(registration, entry.bytes)
            }
            _ => Next::Free,
        }
    });
    match (next, driver_in_use()) {
        (Next::Free, _) => true,
        // At exit and in a forked child what is registered stays.
        (Next::Keep, _) | (Next::End(..), None) => false,
        (Next::End(registration, bytes), Some(driver)) => {
            let free = end(driver, registration, address, bytes, owned);
            if free {
                with_table(|table| table.remove(address));
            }
            free
        }
    }
}

/// Tries once more to end the registration of a block that could not be freed because of it.
fn offer_one() {
    let Some(driver) = driver_in_use().filter(|_| STUCK.swap(false, Ordering::Relaxed)) else { return };
    let one = with_table(|table| {
        let one = table.entries.values_mut().find_map(|entry| match entry.stage {
            Stage::Registered(registration) => Some((registration, entry.left.take()?, entry.bytes)),
            _ => None,
        })?;
        table.set(one.1.address, Stage::Busy);
        Some(one)
    });
    let Some((registration, left, bytes)) = one else { return };
    // There may be more.
    STUCK.store(true, Ordering::Relaxed);
    if end(driver, registration, left.address, bytes, Some(left)) {
        with_table(|table| table.remove(left.address));
        // SAFETY: its object has given it up.
        unsafe { super::free(left) };
    }
}

/// Writes the first failure to standard error that no status reports: without a sentence, its cause is never looked for.
#[cold]
fn say_once(what: std::fmt::Arguments<'_>) {
    static SAID: AtomicBool = AtomicBool::new(false);
    if cuda::may_be_used() && !SAID.swap(true, Ordering::Relaxed) {
        to_stderr(Text::<600>::of(what).as_bytes());
    }
}

/// Holds what is known still, until `release`: for fork.
pub fn acquire() {
    TABLE.acquire();
}

/// Ends `acquire`.
pub fn release() {
    TABLE.release();
}
