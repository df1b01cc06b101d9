//! Copies between device sides.
#![expect(unsafe_code, reason = "the driver's functions are called")]

use std::ptr::NonNull;

use syncedmem_trace::head::Side;

use super::error::Error;
use super::open::Open;
use crate::cuda::{self, driver};
use crate::memory::device::{self, Entered};
use crate::memory::driver::blocks;

/// Copies `bytes` from one device side to another, ordered as `cudaMemcpy` on the legacy default stream.
///
/// # Safety
/// Both sides have that many bytes.
pub unsafe fn copy(target: &Open<'_>, source: &Open<'_>, bytes: usize) -> Result<(), Error> {
    let (Some(to), Some(from), 1..) = (NonNull::new(target.address), NonNull::new(source.address), bytes) else {
        return Ok(());
    };
    let driver = cuda::driver()?;
    let _entered = enter(driver, target)?;
    let [to_address, from_address] = [to, from].map(|block| driver::address(block.as_ptr()));
    // SAFETY: the caller guarantees it.
    unsafe { driver.copy(to_address, from_address, bytes) }.map_err(crate::error::Error::from)?;
    // A copy on one device goes on after the call.
    [to, from].into_iter().for_each(|block| blocks::set_pending_on_legacy(block, true));
    Ok(())
}

/// Makes the context of an open device side current.
fn enter<'d>(driver: &'d driver::Driver, open: &Open<'_>) -> Result<Entered<'d>, Error> {
    let owner = open.memory.owns(Side::Device)?.then_some(open.memory.as_ptr().addr());
    let block = NonNull::new(open.address).unwrap_or(NonNull::dangling());
    Ok(device::enter(driver, block, owner)?)
}
