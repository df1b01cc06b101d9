//! The device side's blocks, and copies between the sides.
//!
//! Copies and fills are ordered as `cudaMemcpy` and `cudaMemset` on the legacy default stream.
#![expect(unsafe_code, reason = "the driver's functions are called")]

mod numa;
mod staged;
pub mod staging_buffers;
pub mod transfer;
pub mod workers;

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use crate::cuda;
use crate::cuda::capture::Unhindered;
use crate::cuda::context::{self, Context, Within};
use crate::cuda::driver::{self, Driver};
use crate::cuda::pointer;
use crate::error::{DriverFailure, Error};
use crate::memory::driver::blocks::{self, Freed};
use crate::memory::driver::record::Record;
use crate::observe::event::{Path, What};
use crate::observe::live::{self, Subject};
use crate::platform::text::{Text, to_stderr};
use crate::state::flags;
use crate::state::head::{Contents, Side};
use crate::state::kind::Kind;
use staged::Staged;

/// A device block as an object holds it.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Its first byte, which the host cannot read.
    pub address: NonNull<c_void>,
    /// The ordinal of its device.
    pub ordinal: c_int,
}

/// A block of `bytes`, which are not 0, for the object at `holder`: zeroed if `contents` are to be, else with any
/// contents.
pub fn allocate(driver: &Driver, bytes: usize, contents: Contents, holder: usize) -> Result<Block, Error> {
    let subject = Subject { object: holder, bytes };
    context::for_new_block(driver, |within| {
        let fills = contents == Contents::Zeros;
        let request = blocks::Request { side: Side::Device, bytes, holder, unsettled: fills };
        let span = live::begin(c"allocate device", bytes);
        let blocks::Block { address, device: ordinal, room, origin, .. } = blocks::allocate(driver, within, request)?;
        let (kind, block) = (Kind::Device, address.addr().get() as u64);
        span.end(subject, || What::Allocated { kind, bytes: room as u64, block, origin });
        if fills {
            let span = live::begin(c"fill device side", bytes);
            // SAFETY: the block is new and that large.
            if let Err(failure) = unsafe { driver.fill(driver::address(address.as_ptr()), 0, bytes) } {
                live::freed(holder, Side::Device, address);
                // SAFETY: nobody knows it yet.
                unsafe { blocks::free(address, holder) };
                return Err(failure.into());
            }
            span.end(subject, || What::Filled { side: Side::Device, bytes: bytes as u64 });
        }
        Ok(Block { address, ordinal })
    })
}

/// Gives back the block that the object at `holder` owned. It never fails: see [`blocks::free`].
///
/// # Safety
/// Nobody refers to the block any more, and nothing that is in flight needs it.
#[cold]
pub unsafe fn free(address: NonNull<c_void>, holder: usize) {
    // SAFETY: the caller guarantees it.
    if unsafe { blocks::free(address, holder) } == Freed::Done {
        return;
    }
    // Another implementation, compiled into somebody else's code, took it from `cudaMalloc`.
    if let Ok(driver) = cuda::driver() {
        // SAFETY: the caller guarantees it. A pointer that the driver does not know is refused.
        let _ = unsafe { free_unknown(driver, address) };
    }
}

/// # Safety
/// As for `free`.
unsafe fn free_unknown(driver: &Driver, address: NonNull<c_void>) -> Result<(), DriverFailure> {
    let address = driver::address(address.as_ptr());
    let Some((context, _)) = pointer::place(driver, address)? else { return Ok(()) };
    let _within = Within::enter(driver, context.unwrap_or(Context::NONE))?;
    let _unhindered = Unhindered::begin(driver);
    // SAFETY: the caller guarantees it.
    unsafe { driver.mem_free(address) }
}

/// Makes the context of somebody else's memory current. Some has none, such as that of a pool or of virtual memory
/// management: there it is the primary context of its device, and where that is not known, what a new block would be in.
fn enter_unknown(driver: &Driver, address: NonNull<c_void>) -> Result<Within<'_>, DriverFailure> {
    match pointer::place(driver, driver::address(address.as_ptr())) {
        Ok(Some((Some(context), _))) => Within::enter(driver, context),
        Ok(Some((None, ordinal @ 0..))) => Within::enter(driver, context::primary(driver, ordinal)?),
        _ => Within::for_new_block(driver),
    }
}

/// Copies `bytes`, which are not 0, between the host and the device block at `device`.
///
/// # Safety
/// Both addresses are good for that many bytes.
pub unsafe fn copy(driver: &Driver, ends: Ends, bytes: usize) -> Result<Path, Error> {
    let (within, record) = ends.enter(driver)?;
    let unsettled = record.is_some_and(|record| record.unsettled);
    // SAFETY: the caller guarantees it.
    let staged = unsafe { staged::copy(driver, &within, ends, bytes) }?;
    if staged == Staged::No {
        let (to, from) = ends.addresses();
        // SAFETY: the caller guarantees it.
        unsafe { driver.copy(to, from, bytes) }?;
    }
    // Any other copy is done when it returns, and came after what the stream had.
    let goes_on = ends.to == Side::Device && !ends.pinned && staged == Staged::No;
    if unsettled != goes_on {
        blocks::note_unsettled(ends.device, goes_on);
    }
    let path = if staged == Staged::Done { Path::Staged } else { ends.path(driver) };
    if ends.to == Side::Device && within.before.is_some_and(|before| before != within.context) {
        // What cannot be found out is not counted.
        let _ = note_mismatch(driver, within);
    }
    Ok(path)
}

/// The two ends of a copy.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// The device's address.
    pub device: NonNull<c_void>,
    /// The host's address.
    pub host: NonNull<c_void>,
    /// The side that is written.
    pub to: Side,
    /// Address of the object, if it owns the device block.
    pub owner: Option<usize>,
    /// Whether the host's memory is known to be page-locked.
    pub pinned: bool,
}

/// A context that is current, and what is known of a block in it: `None` of a caller's own.
type Entered<'d> = (Within<'d>, Option<Record>);

/// Makes the context of a device block current. A caller's own block is where the driver says, and if it does not know, where
/// a new block would be.
fn enter(driver: &Driver, address: NonNull<c_void>, owner: Option<usize>) -> Result<Entered<'_>, Error> {
    let Some(record) = blocks::find(address) else {
        return Ok((enter_unknown(driver, address)?, None));
    };
    if owner.is_some_and(|owner| owner != record.holder) {
        return Err(Error::DeviceReset);
    }
    // Asked of a block that another object owns, too: its context may be gone, and a driver follows the handle of one that is.
    match (record.is_alive(driver, address)?, owner) {
        (true, _) => Ok((Within::enter(driver, record.context)?, Some(record))),
        (false, Some(_)) => enter_another(driver, address),
        (false, None) => Ok((enter_unknown(driver, address)?, None)),
    }
}

/// The same, where the block that was recorded is gone. Another that begins at the very address came from another
/// implementation, which had destroyed the first one's object behind our back; anything else is not this object's.
fn enter_another(driver: &Driver, address: NonNull<c_void>) -> Result<Entered<'_>, Error> {
    let number = driver::address(address.as_ptr());
    if !matches!(pointer::range(driver, number), Ok(Some((start, _))) if start == number) {
        return Err(Error::DeviceReset);
    }
    blocks::forget(address);
    Ok((enter_unknown(driver, address)?, None))
}

impl Ends {
    /// Makes the context of the device block current: see [`enter`].
    fn enter(self, driver: &Driver) -> Result<Entered<'_>, Error> {
        enter(driver, self.device, self.owner)
    }

    /// The path of a copy that the driver makes. While nothing is observed the driver is not asked whether the caller has
    /// page-locked the memory.
    fn path(self, driver: &Driver) -> Path {
        let is_pinned = self.pinned || (flags::on() && !staged::is_pageable(driver, self));
        if is_pinned { Path::Pinned } else { Path::Pageable }
    }

    /// Destination and source.
    fn addresses(self) -> (u64, u64) {
        let (device, host) = (driver::address(self.device.as_ptr()), driver::address(self.host.as_ptr()));
        match self.to {
            Side::Device => (device, host),
            Side::Host => (host, device),
        }
    }
}

/// The ordinal of the device that holds the block at `address`, if the driver knows it.
pub fn ordinal(address: NonNull<c_void>) -> Option<c_int> {
    if let Some(record) = blocks::find(address) {
        return Some(record.device);
    }
    let known = pointer::place(cuda::driver().ok()?, driver::address(address.as_ptr()));
    known.ok().flatten().map(|(_, ordinal)| ordinal).filter(|&ordinal| ordinal >= 0)
}

/// The device check: an error if another device is current than the one that holds the block at `address`.
pub fn check(address: NonNull<c_void>) -> Result<(), Error> {
    let Some(Record { device: holder, .. }) = blocks::find(address) else { return Ok(()) };
    // Where no driver can be used, no device is current.
    let Ok(driver) = cuda::driver() else { return Ok(()) };
    let current = context::current_device(driver)?;
    if current == holder {
        return Ok(());
    }
    context::note_mismatch();
    Err(Error::WrongDevice { current, holder })
}

/// Leaves the context of a block that was copied to, and counts a mismatch if the thread's own context is of another device. The
/// first mismatch is reported on standard error. The thread's context is not entered: another thread may have destroyed it.
///
/// Compat: that is no error. The original returns the pointer, and unified addressing makes it valid.
#[cold]
fn note_mismatch(driver: &Driver, within: Within<'_>) -> Result<(), DriverFailure> {
    let holder = within.device()?;
    drop(within);
    let current = context::current_device(driver)?;
    if current != holder && context::note_mismatch() {
        let said = Text::<300>::of(format_args!(
            "libsyncedmem: data on device {holder} was asked for while device {current} was current; such cases are \
             counted from now on, and SYNCEDMEM_CHECK_DEVICE=1 makes them errors\n"
        ));
        to_stderr(said.as_bytes());
    }
    Ok(())
}
