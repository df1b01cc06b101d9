//! Host memory that was not page-locked when it was made, and is now, where it is: large blocks of ours that keep
//! crossing to the device and back, and what the user asks for.
//!
//! Nothing here says where memory came from: it is freed as ever, but not before its registration has ended. To register
//! takes milliseconds, so what nobody asked for is done on a thread of its own; a block that is freed meanwhile is left to
//! that thread.
#![expect(unsafe_code, reason = "memory is registered, and freed")]

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::{MAPPED_FROM, Owned, records};
use crate::cuda::blocks::{self, Record};
use crate::cuda::context::{self, Within};
use crate::cuda::driver::Driver;
use crate::cuda::registering::{self, Registration};
use crate::cuda::{self, driver_in_use, source};
use crate::error::{Cause, DriverFailure, Error};
use crate::head::Side;
use crate::kind::Kind;
use crate::spread::AddressMap;
use crate::sync::{Lock, nap};
use crate::text::{Text, to_stderr};
use crate::{budget, settings, thread};

/// So many copies of a block, and it is registered.
const CROSSINGS: u32 = 3;

/// What is known about a range of host memory.
#[derive(Clone, Copy)]
struct Entry {
    bytes: usize,
    stage: Stage,
    crossings: u32,
    /// How many objects are among the holders that keep it registered.
    pins: u32,
    /// The block, once its object has let it go.
    left: Option<Owned>,
}

#[derive(Clone, Copy)]
enum Stage {
    /// Its copies are counted.
    Counting,
    /// It is not registered, and shall not be but by request.
    Refused,
    /// Somebody is registering or unregistering it.
    Busy,
    Registered(Registration),
}

/// What the thread is to register, and a block on the device, in whose context it does.
#[derive(Clone, Copy)]
struct Job {
    host: NonNull<c_void>,
    bytes: usize,
    device: NonNull<c_void>,
    record: Record,
}

struct Table {
    /// By address of the memory.
    entries: AddressMap<Entry>,
    /// The address of the memory that an object keeps registered, by the object's own.
    holders: AddressMap<usize>,
    job: Option<Job>,
}

// SAFETY: the addresses are numbers here: what they lead to is used by those whom the entries' stages give leave.
unsafe impl Send for Table {}

#[cfg(not(loom))]
static TABLE: Lock<Table> = Lock::new(Table {
    entries: AddressMap::with_hasher(crate::spread::SPREADING),
    holders: AddressMap::with_hasher(crate::spread::SPREADING),
    job: None,
});
#[cfg(loom)]
loom::lazy_static! {
    static ref TABLE: Lock<Table> =
        Lock::new(Table { entries: AddressMap::default(), holders: AddressMap::default(), job: None });
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

/// Whether any memory is registered, or counted.
#[inline]
pub fn is_used() -> bool {
    // Relaxed: who registers an object's memory and who lets it go are ordered by the object.
    COUNT.load(Ordering::Relaxed) != 0
}

/// One side of a copy.
#[derive(Clone, Copy)]
pub struct Crossing {
    /// The host's memory.
    pub host: NonNull<c_void>,
    /// Its size.
    pub bytes: usize,
    /// The device's block.
    pub device: NonNull<c_void>,
    /// Address of the object.
    pub holder: usize,
    /// Whether the object owns the host's memory.
    pub owned: bool,
}

/// Counts a copy, and says whether the host's memory is registered. The copy that makes it many starts the thread.
pub fn count(driver: &Driver, crossing: Crossing) -> bool {
    let Crossing { host, bytes, holder, owned, .. } = crossing;
    let counts = owned && bytes >= settings::register_from().max(MAPPED_FROM);
    if !counts && !is_used() {
        return false;
    }
    let is_ours = counts && records::knows(host);
    let (registration, due) = with_table(|table| {
        let Some(entry) = table.entries.get_mut(&key(host)) else {
            if is_ours && table.entries.try_reserve(1).is_ok() {
                table.entries.insert(key(host), Entry::new(bytes, Stage::Counting, 1));
            }
            return (None, false);
        };
        match entry.stage {
            Stage::Registered(registration) if bytes <= entry.bytes => {
                // Its copies may be in flight when another object ends what they share.
                if !owned && !table.holders.contains_key(&holder) && table.holders.try_reserve(1).is_ok() {
                    table.holders.insert(holder, key(host));
                    entry.pins += 1;
                }
                (Some(registration), false)
            }
            Stage::Counting if counts => {
                entry.crossings += 1;
                (None, entry.crossings >= CROSSINGS)
            }
            _ => (None, false),
        }
    });
    if due {
        start(crossing);
    }
    registration.is_some_and(|registration| match registration.is_there(driver) {
        Ok(false) => {
            lose(host, registration);
            false
        }
        answer => answer.is_ok(),
    })
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

impl Entry {
    fn new(bytes: usize, stage: Stage, crossings: u32) -> Entry {
        Entry { bytes, stage, crossings, pins: 0, left: None }
    }
}

impl Table {
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

/// Whether the thread is at it: one block at a time, since each holds up every page fault of the process.
static WORKING: AtomicBool = AtomicBool::new(false);

#[cold]
fn start(Crossing { host, bytes, device, .. }: Crossing) {
    // The life of a context of a caller's own block is not known.
    let Some(record) = blocks::find(device).filter(|_| source::forks_copy_locked_pages()) else { return };
    if WORKING.swap(true, Ordering::Acquire) {
        return;
    }
    let admitted = budget::admit_pinned(bytes);
    let job = Job { host, bytes, device, record };
    let begun = with_table(|table| {
        let entry = table.entries.get_mut(&key(host)).filter(|entry| matches!(entry.stage, Stage::Counting));
        let stage = if admitted { Stage::Busy } else { Stage::Refused };
        let begun = entry.map(|entry| entry.stage = stage).is_some() && admitted;
        table.job = begun.then_some(job);
        begun
    });
    // SAFETY: it needs no argument.
    if begun && unsafe { thread::start(work, std::ptr::null_mut()) } {
        return;
    }
    if begun {
        with_table(|table| {
            table.job = None;
            table.set(host, Stage::Refused);
        });
    }
    if admitted {
        budget::withdraw_pinned(bytes);
    }
    WORKING.store(false, Ordering::Release);
}

extern "C" fn work(_: *mut c_void) -> *mut c_void {
    let job = with_table(|table| table.job.take());
    // Where the process is about to exit, everything is left as it is.
    if let (Some(job), Some(background)) = (job, cuda::background()) {
        if let Some(driver) = driver_in_use() {
            do_job(driver, job);
        }
        drop(background);
    }
    WORKING.store(false, Ordering::Release);
    std::ptr::null_mut()
}

fn do_job(driver: &Driver, job: Job) {
    let registered = register_for(driver, job);
    let registration = registered.unwrap_or_else(|failure| {
        say_once(format_args!("libsyncedmem: a block could not be page-locked: {}\n", Error::from(failure)));
        None
    });
    if registration.is_none() {
        budget::withdraw_pinned(job.bytes);
    }
    let left = with_table(|table| {
        let entry = table.entries.get_mut(&key(job.host))?;
        if entry.left.is_none() {
            entry.stage = registration.map_or(Stage::Refused, Stage::Registered);
        }
        entry.left.take()
    });
    let Some(left) = left else { return };
    if registration.is_none_or(|registration| end(driver, registration, job.host, job.bytes, Some(left))) {
        with_table(|table| table.remove(job.host));
        // SAFETY: whoever left it here has given it up.
        unsafe { super::free(left) };
    }
}

fn register_for(
    driver: &Driver,
    Job { host, bytes, device, record }: Job,
) -> Result<Option<Registration>, DriverFailure> {
    // While the block is there, so is its context.
    if !record.is_alive(driver, device)? {
        return Ok(None);
    }
    let within = Within::enter(driver, record.context)?;
    // SAFETY: the block is not freed while its entry says that somebody is at it.
    unsafe { registering::register(driver, &within, host, bytes) }
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
            Stage::Counting | Stage::Refused if owned.is_some() => {
                table.remove(address);
                Next::Free
            }
            Stage::Busy if owned.is_some() => {
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

/// Registers host memory of an object at the user's request.
///
/// # Safety
/// The memory stays until the object lets it go.
pub unsafe fn pin(driver: &Driver, holder: usize, address: NonNull<c_void>, bytes: usize) -> Result<(), Error> {
    enum Next {
        Wait,
        Refuse(Error),
        Look(Registration),
        Register,
    }
    let elsewhere = with_table(|table| table.holders.get(&holder).copied().filter(|&held| held != key(address)));
    if let Some(stale) = elsewhere.and_then(|held| NonNull::new(std::ptr::without_provenance_mut(held))) {
        // Of an object that was here before, and ended behind our back.
        let_go(holder, stale, None);
    }
    loop {
        let next = with_table(|table| {
            if table.entries.try_reserve(1).is_err() || table.holders.try_reserve(1).is_err() {
                let (side, asked) = (Side::Host, size_of::<Entry>());
                return Next::Refuse(Error::OutOfMemory { side, asked, cause: Cause::Bookkeeping });
            }
            let entry = table.entries.entry(key(address)).or_insert(Entry::new(bytes, Stage::Counting, 0));
            let next = match entry.stage {
                Stage::Busy => return Next::Wait,
                Stage::Registered(_) if bytes > entry.bytes => return Next::Refuse(Error::PinnedInPart),
                Stage::Registered(registration) => Next::Look(registration),
                Stage::Counting | Stage::Refused => {
                    *entry = Entry::new(bytes, Stage::Busy, 0);
                    Next::Register
                }
            };
            if table.holders.insert(holder, key(address)).is_none() {
                entry.pins += 1;
            }
            next
        });
        match next {
            Next::Refuse(error) => return Err(error),
            Next::Wait => nap(),
            Next::Look(registration) => {
                if registration.is_there(driver)? {
                    return Ok(());
                }
                lose(address, registration);
            }
            // SAFETY: the caller guarantees it.
            Next::Register => return unsafe { register(driver, address, bytes) },
        }
    }
}

/// Registers memory whose entry is this thread's.
///
/// # Safety
/// As for `pin`.
unsafe fn register(driver: &Driver, address: NonNull<c_void>, bytes: usize) -> Result<(), Error> {
    let idle_is_less = || cuda::pool::give_back_all(Kind::Pinned) > 0 && budget::admit_pinned(bytes);
    let outcome = if budget::admit_pinned(bytes) || idle_is_less() {
        context::for_new_block(driver, |within| {
            // SAFETY: the caller guarantees it.
            Ok(unsafe { registering::register(driver, within, address, bytes) }?)
        })
        .inspect_err(|_| budget::withdraw_pinned(bytes))
    } else {
        let cause = Cause::PinnedLimit(budget::pinned_limit());
        Err(Error::OutOfMemory { side: Side::Host, asked: bytes, cause })
    };
    with_table(|table| match outcome {
        Ok(Some(registration)) => table.set(address, Stage::Registered(registration)),
        // Somebody else did it, and undoes it; or nobody.
        _ => table.remove(address),
    });
    outcome.map(|registration| {
        if registration.is_none() {
            budget::withdraw_pinned(bytes);
        }
    })
}

/// Undoes `pin`, and what was registered without a request if the object owns it: its copies are not counted any more.
pub fn unpin(driver: &Driver, holder: usize, address: NonNull<c_void>, owned: bool) -> Result<(), Error> {
    enum Next {
        Done,
        Wait,
        End(Registration, usize),
    }
    let (registration, bytes) = loop {
        let next = with_table(|table| {
            let held = table.holders.get(&holder) == Some(&key(address));
            let Some(entry) = table.entries.get_mut(&key(address)) else { return Next::Done };
            match entry.stage {
                Stage::Busy => Next::Wait,
                Stage::Registered(registration) if owned || (held && entry.pins == 1) => {
                    entry.stage = Stage::Busy;
                    Next::End(registration, entry.bytes)
                }
                Stage::Registered(_) if held => {
                    entry.pins -= 1;
                    table.holders.remove(&holder);
                    Next::Done
                }
                _ => Next::Done,
            }
        });
        match next {
            Next::Done => return Ok(()),
            Next::Wait => nap(),
            Next::End(registration, bytes) => break (registration, bytes),
        }
    };
    let outcome = registration.end(driver);
    with_table(|table| match outcome {
        Err(_) => table.set(address, Stage::Registered(registration)),
        Ok(()) => {
            table.remove(address);
            if owned && table.entries.try_reserve(1).is_ok() {
                table.entries.insert(key(address), Entry::new(bytes, Stage::Refused, 0));
            }
        }
    });
    outcome?;
    budget::withdraw_pinned(bytes);
    Ok(())
}

/// Tells of the first failure that nobody asked for: what is silent is not looked for.
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
