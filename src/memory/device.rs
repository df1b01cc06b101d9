//! The device side's blocks: made for an object, found by address, given back. Host blocks are in [`super::host`].
//!
//! Fills are ordered as `cudaMemset` on the legacy default stream.
#![expect(unsafe_code, reason = "the driver's functions are called")]

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use super::driver::blocks::{self, Freed};
use super::driver::record::Record;
use crate::cuda;
use crate::cuda::capture::RelaxedCapture;
use crate::cuda::context::{self, Context, ContextGuard};
use crate::cuda::driver::{self, Driver};
use crate::cuda::pointer;
use crate::error::{DriverFailure, Error};
use crate::observe::event::What;
use crate::observe::recorder::{self, Subject};
use crate::state::head::{Contents, Side};
use crate::state::kind::Kind;

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
    context::for_new_block(driver, |guard| {
        let fills = contents == Contents::Zeros;
        let request = blocks::Request { side: Side::Device, bytes, holder, pending_on_legacy: fills };
        let span = recorder::begin(c"allocate device", bytes);
        let blocks::Block { address, device: ordinal, room, origin, .. } = blocks::allocate(driver, guard, request)?;
        let (kind, block) = (Kind::Device, address.addr().get() as u64);
        span.end(subject, || What::Allocated { kind, bytes: room as u64, block, origin });
        if fills {
            let span = recorder::begin(c"fill device side", bytes);
            // SAFETY: the block is new and that large.
            if let Err(failure) = unsafe { driver.fill(driver::address(address.as_ptr()), 0, bytes) } {
                recorder::freed(holder, Side::Device, address);
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
    let Some((context, _)) = pointer::location(driver, address)? else { return Ok(()) };
    let _guard = ContextGuard::enter(driver, context.unwrap_or(Context::NONE))?;
    let _relaxed = RelaxedCapture::begin(driver);
    // SAFETY: the caller guarantees it.
    unsafe { driver.mem_free(address) }
}

/// A context that is current, and what is known of a block in it: `None` of a caller's own.
pub type Entered<'d> = (ContextGuard<'d>, Option<Record>);

/// Makes the context of a device block current. A caller's own block is where the driver says, and if it does not know, where
/// a new block would be.
pub fn enter(driver: &Driver, address: NonNull<c_void>, owner: Option<usize>) -> Result<Entered<'_>, Error> {
    let Some(record) = blocks::find(address) else {
        return Ok((enter_unknown(driver, address)?, None));
    };
    if owner.is_some_and(|owner| owner != record.holder) {
        return Err(Error::DeviceReset);
    }
    // Asked of a block that another object owns, too: its context may be gone, and a driver follows the handle of one that is.
    match (record.is_alive(driver, address)?, owner) {
        (true, _) => Ok((ContextGuard::enter(driver, record.context)?, Some(record))),
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

/// Makes the context of somebody else's memory current. Some has none, such as that of a pool or of virtual memory
/// management: there it is the primary context of its device, and where that is not known, what a new block would be in.
fn enter_unknown(driver: &Driver, address: NonNull<c_void>) -> Result<ContextGuard<'_>, DriverFailure> {
    match pointer::location(driver, driver::address(address.as_ptr())) {
        Ok(Some((Some(context), _))) => ContextGuard::enter(driver, context),
        Ok(Some((None, ordinal @ 0..))) => ContextGuard::enter(driver, context::primary(driver, ordinal)?),
        _ => ContextGuard::for_new_block(driver),
    }
}

/// The ordinal of the device that holds the block at `address`, if the driver knows it.
pub fn ordinal(address: NonNull<c_void>) -> Option<c_int> {
    if let Some(record) = blocks::find(address) {
        return Some(record.device);
    }
    let known = pointer::location(cuda::driver().ok()?, driver::address(address.as_ptr()));
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
