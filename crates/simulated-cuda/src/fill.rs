//! Fills: asynchronous to the host, except of host memory ("API synchronization behavior", CUDA Driver API: Memset).
#![expect(unsafe_code, reason = "entry points have C names")]

use std::ffi::c_int;

use crate::abi::{Address, Handle, INVALID_VALUE, Outcome};
use crate::entry::enter;
use crate::log::Call;
use crate::operation::Action;
use crate::queue::run_in_turn;
use crate::state::state;

fn fill(call: &mut Call, to: Address, value: u8, bytes: usize, stream: Option<Handle>) -> Outcome {
    call.hex("ptr", to);
    call.number("bytes", bytes);
    call.hex("value", value);
    if let Some(stream) = stream {
        call.hex("stream", stream);
    }
    let mut guard = state();
    let legacy = 0;
    let stream = guard.stream(stream.unwrap_or(legacy))?;
    if bytes == 0 {
        return Ok(());
    }
    let span = guard.span(to, bytes)?;
    let Some(block) = span.block.clone() else { return Err(INVALID_VALUE) };
    if guard.captures.taking(&stream)?.is_some() {
        return Ok(());
    }
    let waits = !block.is_on_device();
    let action = Action::Fill { to: span, value };
    // Nothing is before this fill: do it at once, which is one of the times allowed.
    if stream.legacy && guard.predecessors(&stream).is_empty() && guard.could_start(&stream, &[]) {
        drop(run_in_turn(guard, &stream, Vec::new(), vec![block], action));
        return Ok(());
    }
    let token = guard.queue(&stream, Vec::new(), action, vec![block]);
    if waits {
        guard = token.wait(guard);
        guard.current()?;
    }
    Ok(())
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD8_v2(to: Address, value: u8, bytes: usize) -> c_int {
    enter("cuMemsetD8_v2", |call| fill(call, to, value, bytes, None))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD8Async(to: Address, value: u8, bytes: usize, stream: Handle) -> c_int {
    enter("cuMemsetD8Async", |call| fill(call, to, value, bytes, Some(stream)))
}
