//! The entry points for contexts.
#![expect(unsafe_code, reason = "entry points have C names")]

use std::ffi::{c_int, c_uint};

use crate::abi::{Handle, INVALID_CONTEXT, INVALID_VALUE, Out, Outcome};
use crate::blocks;
use crate::context::{Context, discard_old, pop, push, top_of_stack};
use crate::entry::enter;
use crate::signal::CHANGED;
use crate::state::{Guard, Kind, state};
use crate::stream::Stream;

/// Flags of `cuCtxCreate`.
const FLAGS: u32 = 0xFF;

fn flags_allowed(flags: c_uint) -> Outcome {
    // The lowest three bits are one choice of 0, 1, 2 and 4.
    if flags & !FLAGS == 0 && matches!(flags & 7, 0 | 1 | 2 | 4) { Ok(()) } else { Err(INVALID_VALUE) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRetain(context: Out<Handle>, device: c_int) -> c_int {
    enter("cuDevicePrimaryCtxRetain", |call| {
        call.number("device", device);
        let mut state = state();
        let device = state.device(device)?;
        let handle = device.primary;
        context.put(handle)?;
        device.retained += 1;
        if let Some(primary) = state.contexts.get_mut(&handle) {
            primary.active = true;
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRelease_v2(device: c_int) -> c_int {
    enter("cuDevicePrimaryCtxRelease_v2", |call| {
        call.number("device", device);
        let mut guard = state();
        let device = guard.device(device)?;
        device.retained = device.retained.checked_sub(1).ok_or(INVALID_CONTEXT)?;
        let (handle, retained) = (device.primary, device.retained);
        if retained == 0 {
            drop(end(guard, handle, false));
        }
        Ok(())
    })
}

/// Leaves it inactive until it is retained again. Its count of retains stays.
#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxReset_v2(device: c_int) -> c_int {
    enter("cuDevicePrimaryCtxReset_v2", |call| {
        call.number("device", device);
        let mut guard = state();
        let handle = guard.device(device)?.primary;
        drop(end(guard, handle, false));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxGetState(device: c_int, flags: Out<c_uint>, active: Out<c_int>) -> c_int {
    enter("cuDevicePrimaryCtxGetState", |call| {
        call.number("device", device);
        let mut state = state();
        let handle = state.device(device)?.primary;
        active.required()?;
        let primary = state.contexts.get(&handle).ok_or(INVALID_CONTEXT)?;
        flags.put(primary.flags)?;
        active.put(c_int::from(primary.active))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxCreate_v2(context: Out<Handle>, flags: c_uint, device: c_int) -> c_int {
    enter("cuCtxCreate_v2", |call| {
        call.number("device", device);
        let mut state = state();
        state.device(device)?;
        flags_allowed(flags)?;
        context.required()?;
        let new = Context::new(state.new_handle(Kind::Context), state.new_id(), device as usize, false, flags);
        let handle = new.handle;
        push(state.epoch, handle)?;
        state.contexts.insert(handle, new);
        context.put(handle)
    })
}

/// It stays current to other threads, whose calls fail with CONTEXT_IS_DESTROYED.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxDestroy_v2(context: Handle) -> c_int {
    enter("cuCtxDestroy_v2", |call| {
        call.hex("context", context);
        let guard = state();
        match guard.contexts.get(&context) {
            Some(known) if !known.is_primary => {}
            _ => return Err(INVALID_CONTEXT),
        }
        discard_old(guard.epoch);
        if top_of_stack() == Some(context) {
            pop(guard.epoch);
        }
        drop(end(guard, context, false));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetCurrent(context: Out<Handle>) -> c_int {
    enter("cuCtxGetCurrent", |_| {
        discard_old(state().epoch);
        context.put(top_of_stack().unwrap_or(0))
    })
}

/// Replaces the top of the stack; NULL removes it.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetCurrent(context: Handle) -> c_int {
    enter("cuCtxSetCurrent", |call| {
        call.hex("context", context);
        let mut state = state();
        if context != 0 {
            state.check_exists(context)?;
        }
        pop(state.epoch);
        if context == 0 { Ok(()) } else { push(state.epoch, context) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxPushCurrent_v2(context: Handle) -> c_int {
    enter("cuCtxPushCurrent_v2", |call| {
        call.hex("context", context);
        let mut state = state();
        state.check_exists(context)?;
        push(state.epoch, context)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxPopCurrent_v2(context: Out<Handle>) -> c_int {
    enter("cuCtxPopCurrent_v2", |call| {
        let popped = pop(state().epoch).ok_or(INVALID_CONTEXT)?;
        call.hex("context", popped);
        context.put_if_wanted(popped);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetDevice(device: Out<c_int>) -> c_int {
    enter("cuCtxGetDevice", |_| {
        let mut state = state();
        device.put(state.context_or_current(0)?.device as c_int)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetId(context: Handle, id: Out<u64>) -> c_int {
    enter("cuCtxGetId", |call| {
        call.hex("context", context);
        let mut state = state();
        id.put(state.context_or_current(context)?.id)
    })
}

/// Waits for streams of every kind.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSynchronize() -> c_int {
    enter("cuCtxSynchronize", |_| {
        let mut guard = state();
        let context = guard.current()?;
        guard.captures.may_wait_for(context)?;
        for token in guard.everything_in(context) {
            guard = token.wait(guard);
        }
        guard.current().map(|_| ())
    })
}

/// Ends the context's streams with their queues, its events and its memory. A created context goes; a primary one becomes
/// inactive. Dropped work is a violation unless `quiet`.
pub fn end(mut guard: Guard, handle: Handle, quiet: bool) -> Guard {
    let state = &mut *guard;
    let id = state.new_id();
    let Some(context) = state.contexts.get_mut(&handle) else { return guard };
    let mut streams = std::mem::take(&mut context.streams);
    streams.push(std::mem::replace(&mut context.legacy, Stream::new(0, handle, true, true)));
    context.per_thread.clear();
    (context.active, context.broken, context.id) = (false, None, id);
    let is_primary = context.is_primary;
    state.captures.0.retain(|capture| !streams.iter().any(|stream| capture.has(stream)));
    let dropped = state.cancel(&streams);
    if dropped > 0 && !quiet {
        state.violation(format!("context 0x{handle:x} was destroyed with {dropped} operations queued"));
    }
    if !is_primary {
        state.contexts.remove(&handle);
        state.note_destroyed(handle);
    }
    while streams.iter().any(|stream| stream.is_running()) {
        guard = CHANGED.wait(guard);
    }
    let state = &mut *guard;
    let lost: Vec<Handle> = state.streams.values().filter(|s| s.context == handle).map(|s| s.handle).collect();
    for stream in lost {
        state.streams.remove(&stream);
        state.note_lost(stream);
    }
    let lost: Vec<Handle> = state.events.iter().filter(|(_, e)| e.context == handle).map(|(h, _)| *h).collect();
    for event in lost {
        state.events.remove(&event);
        state.note_lost(event);
    }
    let blocks: Vec<_> = state.blocks.values().filter(|block| block.context == handle).cloned().collect();
    for block in blocks {
        if !block.is_freed() {
            guard = blocks::release(guard, &block);
        }
    }
    CHANGED.raise();
    guard
}
