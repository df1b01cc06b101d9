//! Asks the driver about addresses.
#![expect(unsafe_code, reason = "the driver's function is called")]

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;

use cudarc::driver::sys::CUpointer_attribute;

use super::context::{self, Context, ContextGuard};
use super::driver::Driver;
use super::status;
use crate::error::DriverFailure;

use CUpointer_attribute::CU_POINTER_ATTRIBUTE_BUFFER_ID as BUFFER_ID;
use CUpointer_attribute::CU_POINTER_ATTRIBUTE_CONTEXT as CONTEXT;
use CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL as DEVICE_ORDINAL;
use CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE as MEMORY_TYPE;
use CUpointer_attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE as RANGE_SIZE;
use CUpointer_attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR as RANGE_START;

#[derive(Clone, Copy, Debug)]
pub struct Buffer {
    /// Unique in the process; 0 if the driver has none for such memory.
    pub id: u64,
    /// `None` for memory of pools and of virtual memory management.
    pub context: Option<Context>,
}

/// The allocation that contains `address`. Here and below, `None` means that the driver knows no allocation there.
pub fn buffer(driver: &Driver, address: u64) -> Result<Option<Buffer>, DriverFailure> {
    let known = ask_with_context(driver, BUFFER_ID, 0, address)?;
    Ok(known.map(|(context, id)| Buffer { id, context }))
}

/// The allocation's context, and its device's ordinal, which is negative if the driver does not report it.
pub fn location(driver: &Driver, address: u64) -> Result<Option<(Option<Context>, c_int)>, DriverFailure> {
    let known = ask_with_context(driver, DEVICE_ORDINAL, u64::from(u32::MAX), address)?;
    // The driver writes an int; the other half stays 0.
    Ok(known.map(|(context, ordinal)| (context, ordinal as c_uint as c_int)))
}

/// The allocation's start, and its size in bytes.
pub fn range(driver: &Driver, address: u64) -> Result<Option<(u64, u64)>, DriverFailure> {
    Ok(ask(driver, [RANGE_START, RANGE_SIZE], address)?.map(|[start, bytes]| (start, bytes)))
}

/// Whether the driver allocated or page-locked the memory at `address`.
pub fn is_known(driver: &Driver, address: u64) -> Result<bool, DriverFailure> {
    Ok(ask(driver, [], address)?.is_some())
}

/// The context, and one more attribute. Its value is `otherwise` if the driver is too old for it (the device's ordinal
/// came with CUDA 9.2), or has none for such memory.
fn ask_with_context(
    driver: &Driver,
    attribute: CUpointer_attribute,
    otherwise: u64,
    address: u64,
) -> Result<Option<(Option<Context>, u64)>, DriverFailure> {
    let known = match ask_somewhere(driver, [CONTEXT, attribute], address) {
        Err(failure) if failure.status == status::INVALID_VALUE => {
            ask(driver, [CONTEXT], address)?.map(|[context]| [context, otherwise])
        }
        Err(failure) if failure.status == status::INVALID_CONTEXT => None,
        answer => answer?,
    };
    Ok(known.map(|[context, value]| (Context::of(std::ptr::with_exposed_provenance_mut(context as usize)), value)))
}

/// Each value has at most 8 bytes.
fn ask<const N: usize>(
    driver: &Driver,
    wanted: [CUpointer_attribute; N],
    address: u64,
) -> Result<Option<[u64; N]>, DriverFailure> {
    match ask_somewhere(driver, wanted, address) {
        // The documented statuses for an unknown address.
        Err(failure) if matches!(failure.status, status::INVALID_CONTEXT | status::INVALID_VALUE) => Ok(None),
        answer => answer,
    }
}

fn ask_somewhere<const N: usize>(
    driver: &Driver,
    wanted: [CUpointer_attribute; N],
    address: u64,
) -> Result<Option<[u64; N]>, DriverFailure> {
    match ask_once(driver, wanted, address) {
        Err(failure) if status::can_be_recreated(failure.status) => {
            // A driver may need a current context. The thread's own and the allocation's may be gone, and any serves.
            let _guard = match context::current(driver)? {
                Some(_) => ContextGuard::enter(driver, context::primary(driver, 0)?)?,
                None => ContextGuard::for_new_block(driver)?,
            };
            ask_once(driver, wanted, address)
        }
        answer => answer,
    }
}

fn ask_once<const N: usize>(
    driver: &Driver,
    wanted: [CUpointer_attribute; N],
    address: u64,
) -> Result<Option<[u64; N]>, DriverFailure> {
    /// Most attributes of one call.
    const MOST: usize = 3;
    const { assert!(N < MOST) };
    let (mut attributes, mut values, mut places) = ([MEMORY_TYPE; MOST], [0u64; MOST], [null_mut::<c_void>(); MOST]);
    attributes[1..=N].copy_from_slice(&wanted);
    for (location, value) in places.iter_mut().zip(&mut values) {
        *location = (&raw mut *value).cast();
    }
    let count = 1 + N as c_uint;
    // SAFETY: there are `count` attributes, each with 8 writable bytes, which is enough for any of them.
    unsafe { driver.pointer_attributes(count, attributes.as_mut_ptr(), places.as_mut_ptr(), address) }?;
    // The driver returns defaults for an unknown address, and 0 is no memory type.
    let is_known = values[0] != 0;
    Ok(is_known.then(|| std::array::from_fn(|at| values[1 + at])))
}
