//! The entry points for contexts.
#![expect(unsafe_code, reason = "entry points have C names")]

use std::ffi::{c_int, c_uint};

use crate::abi::{Handle, INVALID_CONTEXT, INVALID_VALUE, Out};
use crate::blocks;
use crate::context::{Context, pop, push, top_of_stack};
use crate::entry::enter;
use crate::signal::CHANGED;
use crate::state::{Guard, Kind, state};
use crate::stream::Stream;

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
            drop(end(guard, handle));
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
        drop(end(guard, handle));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxCreate_v2(context: Out<Handle>, flags: c_uint, device: c_int) -> c_int {
    enter("cuCtxCreate_v2", |call| {
        call.number("device", device);
        let mut state = state();
        state.device(device)?;
        // CU_CTX_FLAGS_MASK.
        if flags & !0xFF != 0 {
            return Err(INVALID_VALUE);
        }
        context.required()?;
        let new = Context::new(state.new_handle(Kind::Context), state.new_id(), device as usize, false);
        let handle = new.handle;
        push(handle)?;
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
        if top_of_stack() == Some(context) {
            pop();
        }
        drop(end(guard, context));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetCurrent(context: Out<Handle>) -> c_int {
    enter("cuCtxGetCurrent", |_| context.put(top_of_stack().unwrap_or(0)))
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
        pop();
        if context == 0 { Ok(()) } else { push(context) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxPushCurrent_v2(context: Handle) -> c_int {
    enter("cuCtxPushCurrent_v2", |call| {
        call.hex("context", context);
        let mut state = state();
        state.check_exists(context)?;
        push(context)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxPopCurrent_v2(context: Out<Handle>) -> c_int {
    enter("cuCtxPopCurrent_v2", |call| {
        let popped = pop().ok_or(INVALID_CONTEXT)?;
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
/// inactive. Dropped work is a violation.
pub fn end(mut guard: Guard, handle: Handle) -> Guard {
    let state = &mut *guard;
    let id = state.new_id();
    let Some(context) = state.contexts.get_mut(&handle) else { return guard };
    let mut streams = std::mem::take(&mut context.streams);
    streams.push(std::mem::replace(&mut context.legacy, Stream::new(0, handle, true, true)));
    context.per_thread.clear();
    (context.active, context.broken, context.id) = (false, None, id);
    let is_primary = context.is_primary;
    state.captures.0.retain(|capture| !streams.iter().any(|stream| std::sync::Arc::ptr_eq(stream, &capture.stream)));
    let dropped = state.cancel(&streams);
    if dropped > 0 {
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
