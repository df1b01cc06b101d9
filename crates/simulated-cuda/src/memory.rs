//! Device memory: allocation, free, and what is left.
#![expect(unsafe_code, reason = "entry points have C names")]

use std::ffi::{c_int, c_uint};
use std::sync::Arc;

use crate::abi::{Address, INVALID_VALUE, Out, Outcome};
use crate::block::{Block, Memory};
use crate::blocks;
use crate::device::Device;
use crate::entry::enter;
use crate::log::Call;
use crate::state::state;

impl Device {
    pub fn available(&self) -> usize {
        self.total.saturating_sub(self.used)
    }
}

fn allocate(call: &mut Call, address: Out<Address>, bytes: usize, memory: Memory) -> Outcome {
    call.number("bytes", bytes);
    address.required()?;
    let mut state = state();
    let context = state.current()?;
    if bytes == 0 {
        return Err(INVALID_VALUE);
    }
    state.captures.is_safe()?;
    let block = state.allocate_on_device(bytes, memory, context)?;
    call.hex("ptr", block.start);
    address.put(block.start)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemAlloc_v2(address: Out<Address>, bytes: usize) -> c_int {
    enter("cuMemAlloc_v2", |call| allocate(call, address, bytes, Memory::Device))
}

/// CU_MEM_ATTACH_GLOBAL and CU_MEM_ATTACH_HOST.
const ATTACH_FLAGS: [c_uint; 2] = [1, 2];

#[unsafe(no_mangle)]
pub extern "C" fn cuMemAllocManaged(address: Out<Address>, bytes: usize, flags: c_uint) -> c_int {
    enter("cuMemAllocManaged", |call| {
        if !ATTACH_FLAGS.contains(&flags) {
            return Err(INVALID_VALUE);
        }
        allocate(call, address, bytes, Memory::Managed)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFree_v2(address: Address) -> c_int {
    enter("cuMemFree_v2", |call| {
        call.hex("ptr", address);
        let mut guard = state();
        guard.current()?;
        let block = guard.block_at(address).filter(|block| block.start == address && block.is_on_device());
        let block: Arc<Block> = Arc::clone(block.ok_or(INVALID_VALUE)?);
        guard.captures.is_safe()?;
        call.number("bytes", block.bytes);
        drop(blocks::release(guard, &block));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) -> c_int {
    enter("cuMemGetInfo_v2", |_| {
        free.required()?;
        total.required()?;
        let state = state();
        let context = state.current()?;
        let ordinal = state.contexts.get(&context).map_or(0, |context| context.device);
        let device = state.devices.get(ordinal).ok_or(INVALID_VALUE)?;
        free.put(device.available())?;
        total.put(device.total)
    })
}
