//! Host blocks of an allocator of the program's own, instead of all others.
//!
//! The flag [`ALLOCATOR`] is set while an allocator is set or a block of one lives: it closes the path of small
//! objects, whose blocks have no records. The functions are called without a lock, because they may use the library.
#![expect(unsafe_code, reason = "functions of the program's are called")]

use std::ffi::c_void;
use std::ptr::NonNull;

use syncedmem_trace::address_hash::{AddressMap, address_map};
use syncedmem_trace::event::Origin;

use super::{Found, Owned, copies, registration};
use crate::cuda::context;
use crate::error::{Cause, Error};
use crate::memory::host_usage;
use crate::memory::malloc::ALIGNMENT;
use crate::platform::cancel_guard::CancelGuard;
use crate::platform::sync::{Lock, locked_static};
use crate::settings;
use crate::state::flags::{self, ALLOCATOR};

/// See `syncedmem_host_allocator_t`.
#[derive(Clone, Copy, Debug)]
pub struct Functions {
    pub allocate: unsafe extern "C-unwind" fn(usize, usize, *mut c_void) -> *mut c_void,
    pub release: unsafe extern "C-unwind" fn(*mut c_void, usize, *mut c_void),
    pub context: *mut c_void,
    /// Whether `allocate` returns zeros.
    pub zeroed: bool,
}

#[derive(Clone, Copy)]
struct Record {
    bytes: usize,
    functions: Functions,
}

struct Table {
    current: Option<Functions>,
    /// By address.
    records: AddressMap<Record>,
}

// SAFETY: the caller of `set` says that any thread may use the context.
unsafe impl Send for Table {}

locked_static! { static TABLE: Lock<Table> = Lock::new(Table { current: None, records: address_map() }); }

impl Table {
    /// Under the lock, because a thread that frees a block reads the flag after the block's `keep`.
    fn update_flag(&self) {
        let is_used = self.current.is_some() || !self.records.is_empty();
        if is_used != flags::has(ALLOCATOR) {
            flags::set(ALLOCATOR, is_used);
        }
    }
}

/// Sets the allocator of later blocks; `None`: the library.
///
/// # Safety
/// The functions and their context can be used on any thread for the rest of the process; `allocate` returns NULL or a block of
/// the requested size, which stays until `release`.
pub unsafe fn set(functions: Option<Functions>) -> Result<(), Error> {
    copies::heed();
    if functions.is_some() && settings::malloc_only() {
        return Err(Error::BlocksAreMallocs);
    }
    TABLE.with(|table| {
        table.current = functions;
        table.update_flag();
    });
    Ok(())
}

#[inline]
pub fn current() -> Option<Functions> {
    if flags::has(ALLOCATOR) { TABLE.with(|table| table.current) } else { None }
}

/// The caller holds no lock.
#[cold]
pub fn allocate(functions: Functions, bytes: usize) -> Result<Found, Cause> {
    let record = Record { bytes, functions };
    let block = {
        let _cancel_guard = CancelGuard::begin();
        // SAFETY: the caller of `set` guarantees it.
        context::outside(|| unsafe { (functions.allocate)(bytes, ALIGNMENT, functions.context) })
    };
    let address = NonNull::new(block).ok_or(Cause::Allocator)?;
    let kept = match address.addr().get() % ALIGNMENT {
        0 => keep(address, record).ok_or(Cause::Bookkeeping),
        _ => Err(Cause::Misaligned),
    };
    if kept.is_err() {
        // SAFETY: no object refers to it yet.
        unsafe { record.release(address) };
    }
    kept.map(|()| Found {
        address,
        room: bytes,
        origin: Origin::Fresh,
        undefined: if functions.zeroed { 0 } else { bytes },
    })
}

fn keep(address: NonNull<c_void>, record: Record) -> Option<()> {
    TABLE.with(|table| {
        table.records.try_reserve(1).ok()?;
        table.records.insert(address.addr().get(), record);
        // Another thread may have removed the allocator since `current`.
        table.update_flag();
        Some(())
    })
}

/// `false`: no allocator of the program's made the block.
///
/// # Safety
/// As for [`super::free`].
#[cold]
pub unsafe fn free(block: Owned) -> bool {
    let Owned { address, bytes, holder, .. } = block;
    if !TABLE.with(|table| table.records.contains_key(&address.addr().get())) {
        return false;
    }
    host_usage::removed(bytes);
    if registration::is_used() && !registration::let_go(holder, address, Some(block)) {
        // It is page-locked, and goes back now, unless the driver or another object needs it.
        registration::give_back(address);
        return true;
    }
    // SAFETY: the caller guarantees it.
    unsafe { release(address) }
}

/// As [`free`], for a block that is not counted or registered.
///
/// # Safety
/// As for `free`.
pub unsafe fn release(address: NonNull<c_void>) -> bool {
    let record = TABLE.with(|table| {
        let record = table.records.remove(&address.addr().get());
        table.update_flag();
        record
    });
    let Some(record) = record else { return false };
    // SAFETY: the record is the block's; the caller guarantees the rest.
    unsafe { record.release(address) };
    true
}

impl Record {
    /// # Safety
    /// The record is the block's, which is not used any more.
    unsafe fn release(self, address: NonNull<c_void>) {
        let _cancel_guard = CancelGuard::begin();
        // SAFETY: the caller of `set` guarantees it.
        context::outside(|| unsafe { (self.functions.release)(address.as_ptr(), self.bytes, self.functions.context) });
    }
}
