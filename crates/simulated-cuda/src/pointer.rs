//! The entry points that describe an address.
#![expect(unsafe_code, reason = "entry points have C names")]

use std::ffi::{c_int, c_uint};

use crate::abi::{Address, Array, Handle, INVALID_VALUE, Out, Outcome};
use crate::block::Block;
use crate::entry::enter;
use crate::settings;
use crate::state::state;

/// CU_MEMORYTYPE_HOST and CU_MEMORYTYPE_DEVICE.
const HOST: c_uint = 1;
const DEVICE: c_uint = 2;

const CONTEXT: c_int = 1;
const MEMORY_TYPE: c_int = 2;
const BUFFER_ID: c_int = 7;
const DEVICE_ORDINAL: c_int = 9;
const RANGE_START_ADDR: c_int = 11;
const RANGE_SIZE: c_int = 12;

fn put(data: Out<u8>, attribute: c_int, block: &Block) -> Outcome {
    match attribute {
        CONTEXT => data.cast::<Handle>().put(block.context),
        MEMORY_TYPE => data.cast::<c_uint>().put(if block.is_on_device() { DEVICE } else { HOST }),
        BUFFER_ID if settings::no_host_ids() && !block.is_on_device() => Err(INVALID_VALUE),
        BUFFER_ID => data.cast::<u64>().put(block.id),
        DEVICE_ORDINAL => data.cast::<c_int>().put(block.device as c_int),
        RANGE_START_ADDR => data.cast::<Address>().put(block.start),
        RANGE_SIZE => data.cast::<usize>().put(block.bytes),
        _ => Err(INVALID_VALUE),
    }
}

/// Writes the value for an address that the driver does not know.
fn put_default(data: Out<u8>, attribute: c_int) -> Outcome {
    /// CU_DEVICE_INVALID.
    const NO_DEVICE: c_int = -2;
    match attribute {
        MEMORY_TYPE => data.cast::<c_uint>().put(0),
        DEVICE_ORDINAL => data.cast::<c_int>().put(NO_DEVICE),
        CONTEXT | BUFFER_ID | RANGE_START_ADDR | RANGE_SIZE => data.cast::<u64>().put(0),
        _ => Err(INVALID_VALUE),
    }
}

/// No context need be current.
#[unsafe(no_mangle)]
pub extern "C" fn cuPointerGetAttribute(data: Out<u8>, attribute: c_int, address: Address) -> c_int {
    enter("cuPointerGetAttribute", |call| {
        call.number("attribute", attribute);
        call.hex("ptr", address);
        data.required()?;
        let state = state();
        let block = state.block_at(address).ok_or(INVALID_VALUE)?;
        put(data, attribute, block)
    })
}

/// Attributes of an unknown address, and those that the memory does not have, get default values, and the call
/// succeeds.
#[unsafe(no_mangle)]
pub extern "C" fn cuPointerGetAttributes(
    count: c_uint,
    attributes: Array<c_int>,
    data: Array<Out<u8>>,
    address: Address,
) -> c_int {
    enter("cuPointerGetAttributes", |call| {
        call.number("count", count);
        call.hex("ptr", address);
        let state = state();
        let block = state.block_at(address);
        for index in 0..count as usize {
            let (attribute, data) = (attributes.get(index)?, data.get(index)?);
            data.required()?;
            let known = block.is_some_and(|block| put(data, attribute, block).is_ok());
            if !known {
                put_default(data, attribute)?;
            }
        }
        Ok(())
    })
}
