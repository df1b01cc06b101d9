//! Stream-ordered allocation: every device has one memory pool.
#![expect(unsafe_code, reason = "entry points have C names")]

use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::abi::{Address, Handle, INVALID_VALUE, NOT_SUPPORTED, Out, Outcome};
use crate::block::Memory;
use crate::device::Pool;
use crate::entry::enter;
use crate::log::Call;
use crate::operation::Action;
use crate::state::{State, state};

const RELEASE_THRESHOLD: c_int = 4;
const RESERVED_CURRENT: c_int = 5;
const USED_CURRENT: c_int = 7;

impl State {
    fn pool(&mut self, handle: Handle) -> Outcome<&mut Pool> {
        self.devices.iter_mut().map(|device| &mut device.pool).find(|pool| pool.handle == handle).ok_or(INVALID_VALUE)
    }
}

/// The memory is the caller's at once. A real driver asks for its use in stream order, which is not checked.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemAllocAsync(address: Out<Address>, bytes: usize, stream: Handle) -> c_int {
    enter("cuMemAllocAsync", |call| {
        call.number("bytes", bytes);
        call.hex("stream", stream);
        address.required()?;
        let mut state = state();
        let stream = state.stream(stream)?;
        // Memory of a graph's own is not simulated.
        if state.captures.taking(&stream)?.is_some() {
            return Err(NOT_SUPPORTED);
        }
        let context = stream.context;
        if bytes == 0 {
            return Err(INVALID_VALUE);
        }
        let block = state.allocate_on_device(bytes, Memory::FromPool, context)?;
        if let Some(device) = state.devices.get_mut(block.device) {
            device.pool.allocated(block.taken);
        }
        call.hex("ptr", block.start);
        address.put(block.start)
    })
}

/// The address is invalid from now on; the memory comes back in stream order.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemFreeAsync(address: Address, stream: Handle) -> c_int {
    enter("cuMemFreeAsync", |call| {
        call.hex("ptr", address);
        call.hex("stream", stream);
        let mut state = state();
        let stream = state.stream(stream)?;
        if state.captures.taking(&stream)?.is_some() {
            return Err(NOT_SUPPORTED);
        }
        let block = state.block_at(address).filter(|block| block.start == address && block.is_on_device());
        let block = Arc::clone(block.ok_or(INVALID_VALUE)?);
        call.number("bytes", block.bytes);
        block.leaving.store(true, Ordering::Relaxed);
        state.queue(&stream, Vec::new(), Action::Free(block), Vec::new());
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetDefaultMemPool(pool: Out<Handle>, device: c_int) -> c_int {
    enter("cuDeviceGetDefaultMemPool", |call| {
        call.number("device", device);
        pool.put(state().device(device)?.pool.handle)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemPoolTrimTo(pool: Handle, least: usize) -> c_int {
    enter("cuMemPoolTrimTo", |call| {
        call.hex("pool", pool);
        call.number("bytes", least);
        state().pool(pool)?.trim(least);
        Ok(())
    })
}

fn attribute_call(call: &mut Call, pool: Handle, attribute: c_int) {
    call.hex("pool", pool);
    call.number("attribute", attribute);
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemPoolSetAttribute(pool: Handle, attribute: c_int, value: crate::abi::Array<u64>) -> c_int {
    enter("cuMemPoolSetAttribute", |call| {
        attribute_call(call, pool, attribute);
        let mut state = state();
        let pool = state.pool(pool)?;
        match attribute {
            RELEASE_THRESHOLD => pool.threshold = value.get(0)?,
            _ => return Err(INVALID_VALUE),
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemPoolGetAttribute(pool: Handle, attribute: c_int, value: Out<u64>) -> c_int {
    enter("cuMemPoolGetAttribute", |call| {
        attribute_call(call, pool, attribute);
        let mut state = state();
        let pool = state.pool(pool)?;
        value.put(match attribute {
            RELEASE_THRESHOLD => pool.threshold,
            RESERVED_CURRENT => (pool.used + pool.kept) as u64,
            USED_CURRENT => pool.used as u64,
            _ => return Err(INVALID_VALUE),
        })
    })
}
