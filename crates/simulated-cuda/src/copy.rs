//! Copies: which ranges may be copied where, and who waits for what ("API synchronization behavior", CUDA Driver API).
#![expect(unsafe_code, reason = "entry points have C names, and pageable memory is read when a copy is queued")]

use std::ffi::c_int;
use std::sync::Arc;

use crate::abi::{Address, Handle, INVALID_VALUE, Outcome, move_bytes};
use crate::block::{Block, Span};
use crate::capture::Node;
use crate::entry::enter;
use crate::log::Call;
use crate::operation::{Action, Source};
use crate::queue::run_in_turn;
use crate::state::{Guard, State, state};
use crate::stream::{Stream, Token};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    /// The addresses decide.
    Any,
    HostToDevice,
    DeviceToHost,
    DeviceToDevice,
}

struct Plan {
    to: Span,
    from: Span,
    kind: &'static str,
}

impl Plan {
    fn new(state: &State, to: Address, from: Address, bytes: usize, direction: Direction) -> Outcome<Plan> {
        let (to, from) = (state.span(to, bytes)?, state.span(from, bytes)?);
        // Page-locked memory counts as a host's and a device's.
        let allowed = match direction {
            Direction::Any => true,
            Direction::HostToDevice => !to.is_pageable() && is_for_host(&from),
            Direction::DeviceToHost => is_for_host(&to) && !from.is_pageable(),
            Direction::DeviceToDevice => !to.is_pageable() && !from.is_pageable(),
        };
        if !allowed {
            return Err(INVALID_VALUE);
        }
        let kind = match (direction, from.is_on_device(), to.is_on_device()) {
            (Direction::HostToDevice, ..) | (Direction::Any, false, true) => "HtoD",
            (Direction::DeviceToHost, ..) | (Direction::Any, true, false) => "DtoH",
            (Direction::DeviceToDevice, ..) | (Direction::Any, true, true) => "DtoD",
            (Direction::Any, false, false) => "HtoH",
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

/// Whether the host reaches the range.
fn is_for_host(span: &Span) -> bool {
    span.block.as_ref().is_none_or(|block| block.is_reached_by_host())
}

fn note(call: &mut Call, to: Address, from: Address, bytes: usize) {
    call.hex("dst", to);
    call.hex("src", from);
    call.number("bytes", bytes);
}

/// In the legacy stream of the current context.
fn synchronous(call: &mut Call, to: Address, from: Address, bytes: usize, direction: Direction) -> Outcome {
    note(call, to, from, bytes);
    let mut guard = state();
    let context = guard.current()?;
    if bytes == 0 {
        return Ok(());
    }
    let plan = Plan::new(&guard, to, from, bytes, direction)?;
    guard.captures.is_safe()?;
    let legacy = guard.legacy_stream(context)?;
    guard.captures.taking(&legacy)?;
    call.copy(plan.kind, bytes);
    drop(copy_in_legacy_stream(guard, context, plan)?);
    state().current().map(|_| ())
}

/// Copies behind all work of the blocking streams, and before their later work; between devices in the order of both
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

fn asynchronous(
    call: &mut Call,
    to: Address,
    from: Address,
    bytes: usize,
    direction: Direction,
    stream: Handle,
) -> Outcome {
    note(call, to, from, bytes);
    call.hex("stream", stream);
    let mut guard = state();
    let stream = guard.stream(stream)?;
    if bytes == 0 {
        return Ok(());
    }
    let plan = Plan::new(&guard, to, from, bytes, direction)?;
    if let Some(capture) = guard.captures.taking(&stream)? {
        capture.add(&stream, Some(Node::Copy { to: plan.to, from: plan.from }));
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
    enter("cuMemcpy", |call| synchronous(call, to, from, bytes, Direction::Any))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyHtoD_v2(to: Address, from: Address, bytes: usize) -> c_int {
    enter("cuMemcpyHtoD_v2", |call| synchronous(call, to, from, bytes, Direction::HostToDevice))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyDtoH_v2(to: Address, from: Address, bytes: usize) -> c_int {
    enter("cuMemcpyDtoH_v2", |call| synchronous(call, to, from, bytes, Direction::DeviceToHost))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyDtoD_v2(to: Address, from: Address, bytes: usize) -> c_int {
    enter("cuMemcpyDtoD_v2", |call| synchronous(call, to, from, bytes, Direction::DeviceToDevice))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyAsync(to: Address, from: Address, bytes: usize, stream: Handle) -> c_int {
    enter("cuMemcpyAsync", |call| asynchronous(call, to, from, bytes, Direction::Any, stream))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyHtoDAsync_v2(to: Address, from: Address, bytes: usize, stream: Handle) -> c_int {
    enter("cuMemcpyHtoDAsync_v2", |call| asynchronous(call, to, from, bytes, Direction::HostToDevice, stream))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyDtoHAsync_v2(to: Address, from: Address, bytes: usize, stream: Handle) -> c_int {
    enter("cuMemcpyDtoHAsync_v2", |call| asynchronous(call, to, from, bytes, Direction::DeviceToHost, stream))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyDtoDAsync_v2(to: Address, from: Address, bytes: usize, stream: Handle) -> c_int {
    enter("cuMemcpyDtoDAsync_v2", |call| asynchronous(call, to, from, bytes, Direction::DeviceToDevice, stream))
}
