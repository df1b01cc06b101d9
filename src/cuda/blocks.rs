//! Blocks that come from the driver, on the device or page-locked on the host: each remembers its context, and is
//! given back in it, from any thread and whatever is current there.
//!
//! A record is the authority on where a block came from. It holds the driver's own number for the allocation, so that
//! one that is gone (its device was reset, or somebody else freed it) is told from a new one at the same address.
#![expect(unsafe_code, reason = "the driver's functions are called")]

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::NonNull;

use cudarc::driver::sys::{CU_MEMHOSTALLOC_PORTABLE, CUpointer_attribute};

use super::context::{Context, Within};
use super::driver::{self, Driver};
use super::{driver_in_use, left, status};
use crate::error::{Cause, DriverFailure, Error};
use crate::head::Side;
use crate::spread::AddressMap;
use crate::sync::Lock;

/// What is known about a block.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// The side that it is memory of.
    pub side: Side,
    /// Its context.
    pub context: Context,
    /// The ordinal of its context's device.
    pub device: c_int,
    /// Its size.
    pub bytes: usize,
    /// Address of the object that it was made for.
    pub holder: usize,
    /// Whether the legacy default stream may still be writing it: fills, and copies from pageable memory, go on after
    /// the call that asked for them (CUDA Driver API, "API synchronization behavior").
    pub unsettled: bool,
    /// The driver's number for the allocation; 0 if it would not say.
    id: u64,
}

impl Record {
    /// Whether the driver's number for it is known.
    pub fn has_number(&self) -> bool {
        self.id != 0
    }

    /// Whether the block at `address` is still there: see [`is_alive`].
    pub fn is_alive(&self, driver: &Driver, address: NonNull<c_void>) -> Result<bool, DriverFailure> {
        is_alive(driver, driver::address(address.as_ptr()), self.id, self.context)
    }
}

#[cfg(not(loom))]
static RECORDS: Lock<AddressMap<Record>> = Lock::new(AddressMap::with_hasher(crate::spread::SPREADING));
#[cfg(loom)]
loom::lazy_static! { static ref RECORDS: Lock<AddressMap<Record>> = Lock::new(AddressMap::default()); }

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The side that it is memory of.
    pub side: Side,
    /// How many bytes: not 0.
    pub bytes: usize,
    /// Address of the object that it is for.
    pub holder: usize,
    /// Whether the caller fills it next, on the legacy default stream.
    pub unsettled: bool,
}

/// A block in the context that `within` made current, and the ordinal of its device. Its contents are undefined.
pub fn allocate(driver: &Driver, within: &Within<'_>, request: Request) -> Result<(NonNull<c_void>, c_int), Error> {
    let Request { side, bytes, holder, unsettled } = request;
    let device = within.device()?;
    let answer = match ask(driver, side, bytes) {
        Err(failure) if failure.status == status::OUT_OF_MEMORY => {
            // Another thread may have given back what is missing, too.
            left::offer_all(driver);
            ask(driver, side, bytes)
        }
        answer => answer,
    };
    let address = match answer {
        Ok(address) => address,
        Err(failure) if failure.status == status::OUT_OF_MEMORY && side == Side::Device => {
            return Err(out_of_memory(driver, device, bytes));
        }
        Err(failure) => return Err(failure.into()),
    };
    let id = number(driver, driver::address(address.as_ptr())).unwrap_or(0);
    let record = Record { side, context: within.context, device, bytes, holder, unsettled, id };
    if !keep(address, record) {
        // SAFETY: allocated above, and nobody knows it.
        let _ = unsafe { hand_back(driver, side, address) };
        return Err(Error::OutOfMemory { side, asked: bytes, cause: Cause::Bookkeeping });
    }
    Ok((address, device))
}

/// What came of giving a block back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freed {
    /// It is no longer this library's business.
    Done,
    /// It is none of these blocks.
    Unknown,
}

/// Gives back the block that was made for the object at `holder`, if it is one of these.
///
/// It never fails: what the driver does not take back now is offered to it again later. One that a reset of its device
/// has ended is left alone, also where its address has been given to another object since. At exit, and in a forked
/// child, nothing is done at all.
///
/// # Safety
/// Nobody refers to the block any more, and nothing that is in flight needs it.
pub unsafe fn free(address: NonNull<c_void>, holder: usize) -> Freed {
    let key = address.addr().get();
    let record = RECORDS.with(|records| match records.get(&key) {
        None => Err(Freed::Unknown),
        Some(record) if record.holder != holder => Err(Freed::Done),
        Some(_) => records.remove(&key).ok_or(Freed::Unknown),
    });
    let record = match record {
        Ok(record) => record,
        Err(answer) => return answer,
    };
    if let Some(driver) = driver_in_use() {
        // SAFETY: the caller guarantees it.
        match unsafe { give_back(driver, address, &record) } {
            Ok(()) => left::offer_one(driver, record.context),
            Err(failure) => {
                left::keep(key, record);
                left::say_once(&record, failure);
            }
        }
    }
    Freed::Done
}

/// Page-locked memory without a record, in the current context.
pub fn pin(driver: &Driver, bytes: usize) -> Result<NonNull<c_void>, DriverFailure> {
    ask(driver, Side::Host, bytes)
}

/// Gives such memory back.
///
/// # Safety
/// It is page-locked memory of the driver's, and nobody refers to it any more.
pub unsafe fn unpin(driver: &Driver, address: NonNull<c_void>) -> Result<(), DriverFailure> {
    // SAFETY: the caller guarantees it.
    unsafe { hand_back(driver, Side::Host, address) }
}

/// What is known about the block at `address`, if it is one of these.
pub fn find(address: NonNull<c_void>) -> Option<Record> {
    RECORDS.with(|records| records.get(&address.addr().get()).copied())
}

/// Notes whether the legacy default stream may still be writing the block at `address`.
pub fn note_unsettled(address: NonNull<c_void>, unsettled: bool) {
    RECORDS.with(|records| {
        if let Some(record) = records.get_mut(&address.addr().get()) {
            record.unsettled = unsettled;
        }
    });
}

/// Forgets a block that somebody else has given back.
pub fn forget(address: NonNull<c_void>) {
    RECORDS.with(|records| records.remove(&address.addr().get()));
}

/// Waits until the legacy default stream of the current context has come past everything it was given.
pub fn settle(driver: &Driver) -> Result<(), DriverFailure> {
    // SAFETY: null is the legacy default stream.
    unsafe { driver.stream_synchronize(std::ptr::null_mut()) }
}

/// Holds the records still, until `release`: for fork.
pub fn acquire() {
    RECORDS.acquire();
}

/// Ends `acquire`.
pub fn release() {
    RECORDS.release();
}

/// What objects hold on one side in blocks of the driver's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    /// How many blocks.
    pub blocks: usize,
    /// How many bytes.
    pub bytes: u64,
    /// The largest: an object's address, and bytes.
    pub largest: [(usize, usize); 3],
}

/// What objects hold on `side`.
pub fn held(side: Side) -> Held {
    let mut held = Held::default();
    RECORDS.with(|records| {
        for record in records.values().filter(|record| record.side == side) {
            held.blocks += 1;
            held.bytes += record.bytes as u64;
            if let Some(place) = held.largest.iter().position(|&(_, bytes)| record.bytes > bytes) {
                held.largest[place..].rotate_right(1);
                held.largest[place] = (record.holder, record.bytes);
            }
        }
    });
    held
}

fn ask(driver: &Driver, side: Side, bytes: usize) -> Result<NonNull<c_void>, DriverFailure> {
    let mut address = std::ptr::null_mut();
    match side {
        Side::Device => {
            let mut number = 0;
            // SAFETY: `number` is writable.
            unsafe { driver.mem_alloc(&mut number, bytes) }?;
            // Never dereferenced here: it is the device's.
            address = std::ptr::without_provenance_mut(number as usize);
        }
        // Every context may use it. Never write-combined, which the host reads at a crawl.
        // SAFETY: `address` is writable.
        Side::Host => unsafe { driver.host_alloc(&mut address, bytes, CU_MEMHOSTALLOC_PORTABLE as c_uint) }?,
    }
    // It was not 0 bytes that were asked for, so a success has an address.
    NonNull::new(address).ok_or(DriverFailure { call: "an allocation without an address", status: status::SUCCESS })
}

/// # Safety
/// `address` is a block of `side` that nobody refers to any more.
unsafe fn hand_back(driver: &Driver, side: Side, address: NonNull<c_void>) -> Result<(), DriverFailure> {
    match side {
        // SAFETY: the caller guarantees it.
        Side::Device => unsafe { driver.mem_free(driver::address(address.as_ptr())) },
        // SAFETY: the caller guarantees it.
        Side::Host => unsafe { driver.host_free(address.as_ptr()) },
    }
}

/// The driver's number for the allocation at `address`: no two of a process have the same.
pub fn number(driver: &Driver, address: u64) -> Result<u64, DriverFailure> {
    let mut id = 0u64;
    let attribute = CUpointer_attribute::CU_POINTER_ATTRIBUTE_BUFFER_ID;
    // SAFETY: this attribute is an unsigned long long, and `id` is writable.
    unsafe { driver.pointer_attribute((&raw mut id).cast(), attribute, address) }?;
    Ok(id)
}

/// Gives a block back to the driver, unless it is gone.
///
/// # Safety
/// As for `free`.
pub unsafe fn give_back(driver: &Driver, address: NonNull<c_void>, record: &Record) -> Result<(), DriverFailure> {
    // SAFETY: the caller guarantees it.
    match unsafe { try_to_give_back(driver, address, record) } {
        Err(failure) if status::is_context_gone(failure.status) => Ok(()),
        answer => answer,
    }
}

/// # Safety
/// As for `free`.
unsafe fn try_to_give_back(driver: &Driver, address: NonNull<c_void>, record: &Record) -> Result<(), DriverFailure> {
    if !record.is_alive(driver, address)? {
        return Ok(());
    }
    let _within = Within::enter(driver, record.context)?;
    if record.unsettled {
        settle(driver)?;
    }
    // SAFETY: the caller guarantees it, and it is still the block that was recorded.
    unsafe { hand_back(driver, record.side, address) }
}

/// Whether the allocation at `address` is still the one of that number; 0 says that nobody knows, and passes for yes.
///
/// To be asked before a context or an event that was there with it is touched: a driver does not refuse the handles of
/// a context that is gone, it follows them. A pointer it looks up.
pub fn is_alive(driver: &Driver, address: u64, id: u64, context: Context) -> Result<bool, DriverFailure> {
    if id == 0 {
        return Ok(true);
    }
    let answer = match number(driver, address) {
        // Some want a context to be current.
        Err(failure) if failure.status == status::INVALID_CONTEXT => {
            let _within = Within::enter(driver, context)?;
            number(driver, address)
        }
        answer => answer,
    };
    match answer {
        // Another number: it is gone, and the address is somebody else's by now.
        Ok(now) => Ok(now == id),
        Err(failure) if failure.status == status::INVALID_VALUE => Ok(false),
        Err(failure) => Err(failure),
    }
}

fn keep(address: NonNull<c_void>, record: Record) -> bool {
    RECORDS.with(|records| {
        let room = records.try_reserve(1).is_ok();
        if room {
            records.insert(address.addr().get(), record);
        }
        room
    })
}

#[cold]
fn out_of_memory(driver: &Driver, ordinal: c_int, asked: usize) -> Error {
    let (mut free, mut total) = (0, 0);
    // SAFETY: both are writable.
    let unknown = unsafe { driver.mem_info(&mut free, &mut total) }.is_err();
    if unknown {
        (free, total) = (0, 0);
    }
    let side = Side::Device;
    Error::OutOfMemory { side, asked, cause: Cause::Device { ordinal, free: free as u64, total: total as u64 } }
}
