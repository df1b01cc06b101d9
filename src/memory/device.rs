//! Device blocks. Fills are ordered as `cudaMemset` on the legacy default stream.
#![expect(unsafe_code, reason = "the driver's functions are called")]

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use cudarc::driver::sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS as PAGEABLE_MEMORY_ACCESS;
use syncedmem_core::head::Side;
use syncedmem_core::kind::Kind;

use super::arena::device::{self as arena, Place};
use super::blocks::{self, Freed, Maker};
use super::driver::allocator::{self, Request};
use super::driver::source::Allocation;
use super::observed::{self, Found};
use crate::cuda;
use crate::cuda::capture::RelaxedCapture;
use crate::cuda::context::{self, Context, ContextGuard};
use crate::cuda::driver::{self, Driver};
use crate::cuda::pointer;
use crate::error::{DriverFailure, Error};
use crate::observe::recorder::{self, Span, Subject};
use crate::settings;
use crate::state::step::Fill;

/// `bytes` is not 0. The host cannot access the block.
pub fn allocate(driver: &Driver, bytes: usize, fill: Fill, owner: usize) -> Result<NonNull<c_void>, Error> {
    context::for_new_block(driver, |guard| {
        let value = (fill == Fill::Zeros).then_some(0);
        let request = Request { side: Side::Device, bytes, owner, pending_on_legacy: value.is_some() };
        let span = recorder::begin(c"allocate device", bytes);
        let found = allocator::allocate(driver, guard, request)?;
        filled(driver, found, Subject { object: owner, bytes }, value, span)
    })
}

/// Takes a block from the thread's arena. `None`: call [`allocate`], which succeeds or returns the error.
pub fn take_from_arena(
    driver: &Driver,
    bytes: usize,
    fill: Fill,
    owner: usize,
    place: Place,
) -> Result<Option<NonNull<c_void>>, Error> {
    /// A NaN as a `float` and as a `double`.
    const JUNK: u8 = 0xff;
    context::for_new_block(driver, |guard| {
        let value = match fill {
            Fill::Zeros => Some(0),
            Fill::Undefined if settings::fills_with_junk() => Some(JUNK),
            _ => None,
        };
        let span = recorder::begin(c"take from arena on device", bytes);
        let found = arena::take(driver, guard, (bytes, owner), place)?;
        found.map(|found| filled(driver, found, Subject { object: owner, bytes }, value, span)).transpose()
    })
}

/// Fills the new block with `value`.
fn filled(
    driver: &Driver,
    found: Found,
    subject: Subject,
    value: Option<u8>,
    span: Span,
) -> Result<NonNull<c_void>, Error> {
    let address = found.address;
    let fill = value.map(|value| {
        // SAFETY: the block is new, and has that many bytes.
        move |bytes| unsafe { driver.fill(driver::address(address.as_ptr()), value, bytes) }
    });
    observed::made(found, Kind::Device, subject, span, fill).inspect_err(|_| {
        // SAFETY: no object refers to the block yet.
        unsafe { free(address, subject.object) }
    })?;
    Ok(address)
}

/// Fills `bytes` of a block with zeros, starting at byte `from`.
#[cold]
pub fn zero(driver: &Driver, block: NonNull<c_void>, from: usize, bytes: usize) -> Result<(), Error> {
    let address = driver::address(block.as_ptr());
    let Some((context, _)) = pointer::location(driver, address)? else { return Ok(()) };
    let _guard = ContextGuard::enter(driver, context.unwrap_or(Context::NONE))?;
    // SAFETY: the caller has claimed the object that has the block, of `from + bytes` bytes at least.
    unsafe { driver.fill(address + from as u64, 0, bytes) }?;
    Ok(())
}

/// Does nothing for a block that a reset has ended, even if another object has a block at its address now.
///
/// # Safety
/// No thread refers to the block any more, and no copy in flight uses it.
#[cold]
pub unsafe fn free(address: NonNull<c_void>, owner: usize) {
    let known = blocks::free(address, owner);
    if let Freed::Of(Maker::Driver(block) | Maker::DeviceArena(block), _) | Freed::Anothers(block) = known {
        observed::freed(address, owner, || (Kind::Device, block.room));
    }
    match known {
        // SAFETY: the caller of `free` guarantees that nothing uses the block.
        Freed::Of(maker, bytes) => unsafe { super::give_back(address, maker, bytes) },
        // An inlined original got it from `cudaMalloc`.
        Freed::Unknown => {
            if let Ok(driver) = cuda::driver() {
                // SAFETY: the caller of `free` guarantees that nothing uses the block.
                let _ = unsafe { free_unknown(driver, address) };
            }
        }
        Freed::Anothers(_) => {}
    }
}

/// # Safety
/// Nothing uses the block, as in [`free`].
unsafe fn free_unknown(driver: &Driver, address: NonNull<c_void>) -> Result<(), DriverFailure> {
    let address = driver::address(address.as_ptr());
    let Some((context, _)) = pointer::location(driver, address)? else { return Ok(()) };
    let _guard = ContextGuard::enter(driver, context.unwrap_or(Context::NONE))?;
    let _relaxed = RelaxedCapture::begin(driver);
    // SAFETY: the caller of `free_unknown` guarantees that nothing uses the block.
    unsafe { driver.mem_free(address) }
}

/// The block's context, now current, and the block if it is the library's.
pub type Entered<'d> = (ContextGuard<'d>, Option<Allocation>);

pub fn enter(driver: &Driver, address: NonNull<c_void>, owner: Option<usize>) -> Result<Entered<'_>, Error> {
    let Some((allocation, recorded)) = blocks::find(address) else {
        return Ok((enter_unknown(driver, address)?, None));
    };
    if owner.is_some_and(|owner| owner != recorded) {
        return Err(Error::DeviceReset);
    }
    // Query the allocation even for another object's block: its context may be gone, and a driver follows stale handles.
    match (allocation.enter(driver, address)?, owner) {
        (Some(guard), _) => Ok((guard, Some(allocation))),
        (None, Some(_)) => enter_another(driver, address, &allocation),
        (None, None) => Ok((enter_unknown(driver, address)?, None)),
    }
}

/// [`enter`] for a recorded block that is gone. If a block begins at its address, an inlined original freed the recorded one and
/// allocated that.
fn enter_another<'d>(driver: &'d Driver, address: NonNull<c_void>, gone: &Allocation) -> Result<Entered<'d>, Error> {
    let number = driver::address(address.as_ptr());
    let begins_there = matches!(pointer::range(driver, number), Ok(Some((start, _))) if start == number);
    // The driver may have given the address to another object since.
    if !begins_there || !allocator::forget(address, gone) {
        return Err(Error::DeviceReset);
    }
    Ok((enter_unknown(driver, address)?, None))
}

/// Memory of a pool or of virtual memory management has no context: the primary context of its device becomes current, or, if that is
/// unknown, the context for a new block. The driver takes an unknown address for one of the host, and a copy there can end the
/// process: this function refuses such an address, unless the device reaches the host's memory.
fn enter_unknown(driver: &Driver, address: NonNull<c_void>) -> Result<ContextGuard<'_>, Error> {
    let location = pointer::location(driver, driver::address(address.as_ptr()));
    let guard = match location {
        Ok(Some((Some(context), _))) => ContextGuard::enter(driver, context),
        Ok(Some((None, ordinal @ 0..))) => ContextGuard::enter(driver, context::primary(driver, ordinal)?),
        _ => ContextGuard::for_new_block(driver),
    }?;
    if matches!(location, Ok(None)) && driver.attribute(guard.device()?, PAGEABLE_MEMORY_ACCESS) != Some(1) {
        return Err(Error::DeviceReset);
    }
    Ok(guard)
}

pub fn ordinal(address: NonNull<c_void>) -> Option<c_int> {
    if let Some((allocation, _)) = blocks::find(address) {
        return Some(allocation.device);
    }
    let known = pointer::location(cuda::driver().ok()?, driver::address(address.as_ptr()));
    known.ok().flatten().map(|(_, ordinal)| ordinal).filter(|&ordinal| ordinal >= 0)
}

pub fn check(address: NonNull<c_void>) -> Result<(), Error> {
    let Some((Allocation { device: owner, .. }, _)) = blocks::find(address) else { return Ok(()) };
    // Without a usable driver, no device is current.
    let Ok(driver) = cuda::driver() else { return Ok(()) };
    let current = context::current_device(driver)?;
    if current == owner {
        return Ok(());
    }
    context::note_mismatch();
    Err(Error::WrongDevice { current, owner })
}
