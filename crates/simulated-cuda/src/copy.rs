//! Copies: which ranges may be copied where, and who waits for what ("API synchronization behavior", CUDA Driver API).
#![expect(unsafe_code, reason = "entry points have C names, and pageable memory is read when a copy is queued")]

use std::ffi::c_int;
use std::sync::Arc;

use crate::abi::{Address, Handle, Outcome, move_bytes};
use crate::block::{Block, Span};
use crate::entry::enter;
use crate::log::Call;
use crate::operation::{Action, Source};
use crate::queue::run_in_turn;
use crate::state::{Guard, State, state};
use crate::stream::{Stream, Token};

struct Plan {
    to: Span,
    from: Span,
    kind: &'static str,
}

impl Plan {
    /// Device memory that is gone is a violation: a real driver takes such an address for the host's, and reads or writes there.
    fn new(state: &mut State, to: Address, from: Address, bytes: usize) -> Outcome<Plan> {
        for address in [to, from] {
            if state.is_device_address(address) && state.block_at(address).is_none() {
                state.violation(format!("a copy of {bytes} bytes used device memory at 0x{address:x}, which is gone"));
            }
        }
        let (to, from) = (state.span(to, bytes)?, state.span(from, bytes)?);
        let kind = match (from.is_on_device(), to.is_on_device()) {
            (false, true) => "HtoD",
            (true, false) => "DtoH",
            (true, true) => "DtoD",
            (false, false) => "HtoH",
        };
        Ok(Plan { to, from, kind })
    }

    fn blocks(&self) -> Vec<Arc<Block>> {
        [&self.to, &self.from].into_iter().filter_map(|span| span.block.clone()).collect()
    }

    /// Other contexts with whose work a copy within devices is ordered.
    fn other_contexts(&self, context: Handle) -> Vec<Handle> {
        if !self.is_within_devices() {
            return Vec::new();
        }
        let blocks = [&self.to, &self.from].into_iter().filter_map(|span| span.block.as_ref());
        blocks.map(|block| block.context).filter(|other| *other != context).collect()
    }

    fn is_within_devices(&self) -> bool {
        self.to.is_on_device() && self.from.is_on_device()
    }
}

fn note(call: &mut Call, to: Address, from: Address, bytes: usize) {
    call.hex("dst", to);
    call.hex("src", from);
    call.number("bytes", bytes);
}

/// A copy in the legacy stream of the current context.
fn synchronous(call: &mut Call, to: Address, from: Address, bytes: usize) -> Outcome {
    note(call, to, from, bytes);
    let mut guard = state();
    let context = guard.current()?;
    if bytes == 0 {
        return Ok(());
    }
    let plan = Plan::new(&mut guard, to, from, bytes)?;
    guard.captures.is_safe()?;
    let legacy = guard.legacy_stream(context)?;
    guard.captures.taking(&legacy)?;
    call.copy(plan.kind, bytes);
    drop(copy_in_legacy_stream(guard, context, plan)?);
    state().current().map(|_| ())
}

/// Copies after all work of the blocking streams, and before their later work; between devices in the order of both
/// ("Multi-device system", CUDA C++ Programming Guide). The host does not wait for a copy within devices.
fn copy_in_legacy_stream(mut guard: Guard, context: Handle, plan: Plan) -> Outcome<Guard> {
    let legacy = guard.legacy_stream(context)?;
    let others: Vec<Arc<Stream>> =
        plan.other_contexts(context).into_iter().filter_map(|other| guard.legacy_stream(other).ok()).collect();
    let mut after: Vec<Token> = Vec::new();
    for other in &others {
        after.extend(guard.predecessors(other));
        after.push(other.last());
    }
    let blocks = plan.blocks();
    let host_waits = !plan.is_within_devices();
    let action = Action::Copy { to: plan.to, from: Source::Memory(plan.from) };
    if host_waits || (guard.could_start(&legacy, &after) && guard.predecessors(&legacy).is_empty()) {
        return Ok(run_in_turn(guard, &legacy, after, blocks, action));
    }
    let copy = guard.queue(&legacy, after, action, blocks);
    for other in &others {
        guard.queue(other, vec![copy.clone()], Action::Join, Vec::new());
    }
    Ok(guard)
}

fn asynchronous(call: &mut Call, to: Address, from: Address, bytes: usize, stream: Handle) -> Outcome {
    note(call, to, from, bytes);
    call.hex("stream", stream);
    let mut guard = state();
    let stream = guard.stream(stream)?;
    if bytes == 0 {
        return Ok(());
    }
    let plan = Plan::new(&mut guard, to, from, bytes)?;
    if guard.captures.taking(&stream)?.is_some() {
        return Ok(());
    }
    call.copy(plan.kind, bytes);
    // The host waits where no later moment would free its memory.
    let waits = if plan.to.is_on_device() { false } else { plan.to.is_pageable() || !plan.from.is_on_device() };
    let blocks = plan.blocks();
    let mut source = Source::Memory(plan.from.clone());
    if plan.from.is_pageable() && !waits {
        drop(guard);
        source = Source::Staged(staged(plan.from.address, bytes));
        guard = state();
    }
    let token = guard.queue(&stream, Vec::new(), Action::Copy { to: plan.to, from: source }, blocks);
    if waits {
        guard = token.wait(guard);
        guard.current()?;
    }
    Ok(())
}

/// Reads pageable memory: the caller may overwrite it once the call returns.
fn staged(from: Address, bytes: usize) -> Vec<u8> {
    let mut staged = vec![0; bytes];
    // SAFETY: the caller of the entry point passes readable memory.
    unsafe { move_bytes(staged.as_mut_ptr().expose_provenance(), from, bytes) };
    staged
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpy(to: Address, from: Address, bytes: usize) -> c_int {
    enter("cuMemcpy", |call| synchronous(call, to, from, bytes))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyAsync(to: Address, from: Address, bytes: usize, stream: Handle) -> c_int {
    enter("cuMemcpyAsync", |call| asynchronous(call, to, from, bytes, stream))
}
