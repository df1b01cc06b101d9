//! Page-locked host memory: allocated by the driver, or registered with it.
#![expect(unsafe_code, reason = "entry points have C names")]

use std::ffi::{c_int, c_uint};
use std::sync::Arc;

use crate::abi::{
    Address, HOST_MEMORY_ALREADY_REGISTERED, HOST_MEMORY_NOT_REGISTERED, INVALID_VALUE, OUT_OF_MEMORY, Out, Outcome,
};
use crate::block::Memory;
use crate::blocks;
use crate::entry::enter;
use crate::log::Call;
use crate::space;
use crate::state::state;

/// PORTABLE, DEVICEMAP, WRITECOMBINED.
const ALLOC_FLAGS: c_uint = 7;
/// PORTABLE, DEVICEMAP, IOMEMORY, READ_ONLY.
const REGISTER_FLAGS: c_uint = 15;

fn allocate(call: &mut Call, address: Out<Address>, bytes: usize, flags: c_uint) -> Outcome {
    call.number("bytes", bytes);
    call.hex("flags", flags);
    address.required()?;
    let mut state = state();
    let context = state.current()?;
    if bytes == 0 || flags & !ALLOC_FLAGS != 0 {
        return Err(INVALID_VALUE);
    }
    state.captures.is_safe()?;
    if state.pinned.saturating_add(bytes) > space::physical_memory() {
        return Err(OUT_OF_MEMORY);
    }
    let start = space::map_host(bytes).ok_or(OUT_OF_MEMORY)?;
    state.add_block(start, bytes, Memory::Pinned(flags), context);
    call.hex("ptr", start);
    address.put(start)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemHostAlloc(address: Out<Address>, bytes: usize, flags: c_uint) -> c_int {
    enter("cuMemHostAlloc", |call| allocate(call, address, bytes, flags))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFreeHost(address: Address) -> c_int {
    enter("cuMemFreeHost", |call| {
        call.hex("ptr", address);
        let mut guard = state();
        guard.current()?;
        let block = guard.block_at(address).filter(|block| block.start == address);
        let block = Arc::clone(block.ok_or(INVALID_VALUE)?);
        if !matches!(block.memory, Memory::Pinned(_)) {
            return Err(INVALID_VALUE);
        }
        guard.captures.is_safe()?;
        call.number("bytes", block.bytes);
        drop(blocks::release(guard, &block));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemHostGetFlags(flags: Out<c_uint>, address: Address) -> c_int {
    enter("cuMemHostGetFlags", |call| {
        call.hex("ptr", address);
        let state = state();
        state.current()?;
        match state.block_at(address).map(|block| block.memory) {
            Some(Memory::Pinned(given)) => flags.put(given),
            _ => Err(INVALID_VALUE),
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemHostRegister_v2(address: Address, bytes: usize, flags: c_uint) -> c_int {
    enter("cuMemHostRegister_v2", |call| {
        call.hex("ptr", address);
        call.number("bytes", bytes);
        let mut state = state();
        let context = state.current()?;
        let end = address.checked_add(bytes).ok_or(INVALID_VALUE)?;
        if address == 0 || bytes == 0 || flags & !REGISTER_FLAGS != 0 {
            return Err(INVALID_VALUE);
        }
        state.captures.is_safe()?;
        let before = state.blocks.range(..end).next_back();
        match before.filter(|(_, block)| block.end() > address) {
            Some((_, block)) if block.is_on_device() => return Err(INVALID_VALUE),
            Some(_) => return Err(HOST_MEMORY_ALREADY_REGISTERED),
            None => {}
        }
        if state.pinned.saturating_add(bytes) > space::physical_memory() {
            return Err(OUT_OF_MEMORY);
        }
        // A device's addresses are mapped too, but not the host's.
        state.span(address, bytes)?;
        if !space::is_mapped(address, bytes) {
            return Err(INVALID_VALUE);
        }
        state.add_block(address, bytes, Memory::Registered, context);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemHostUnregister(address: Address) -> c_int {
    enter("cuMemHostUnregister", |call| {
        call.hex("ptr", address);
        let mut guard = state();
        guard.current()?;
        let block = guard.block_at(address).filter(|b| b.start == address && b.memory == Memory::Registered);
        let block = Arc::clone(block.ok_or(HOST_MEMORY_NOT_REGISTERED)?);
        guard.captures.is_safe()?;
        drop(blocks::release(guard, &block));
        Ok(())
    })
}
