//! The entry points for stream capture, and for graphs as far as captures make them.
#![expect(unsafe_code, reason = "entry points have C names")]

use std::ffi::c_int;

use crate::abi::{
    Handle, ILLEGAL_STATE, INVALID_HANDLE, INVALID_VALUE, NOT_SUPPORTED, Out, STREAM_CAPTURE_IMPLICIT,
    STREAM_CAPTURE_INVALIDATED, STREAM_CAPTURE_UNSUPPORTED,
};
use crate::block::Span;
use crate::capture::{Capture, Node, RELAXED, exchange_mode};
use crate::entry::enter;
use crate::operation::{Action, Source};
use crate::state::{Kind, state};

/// CU_STREAM_CAPTURE_STATUS_NONE, ACTIVE and INVALIDATED.
const NONE: c_int = 0;
const ACTIVE: c_int = 1;
const INVALIDATED: c_int = 2;

#[unsafe(no_mangle)]
pub extern "C" fn cuThreadExchangeStreamCaptureMode(mode: Out<c_int>) -> c_int {
    enter("cuThreadExchangeStreamCaptureMode", |call| {
        let wanted = mode.value()?;
        call.number("mode", wanted);
        mode.put(exchange_mode(wanted)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamBeginCapture_v2(stream: Handle, mode: c_int) -> c_int {
    enter("cuStreamBeginCapture_v2", |call| {
        call.hex("stream", stream);
        call.number("mode", mode);
        let mut state = state();
        let stream = state.stream(stream)?;
        if !(0..=RELAXED).contains(&mode) {
            return Err(INVALID_VALUE);
        }
        if stream.legacy {
            return Err(STREAM_CAPTURE_UNSUPPORTED);
        }
        if state.captures.of(&stream).is_some() {
            return Err(ILLEGAL_STATE);
        }
        let id = state.new_id();
        state.captures.0.push(Capture::new(id, &stream, mode));
        Ok(())
    })
}

/// The capture ends whatever becomes of it.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamEndCapture(stream: Handle, graph: Out<Handle>) -> c_int {
    enter("cuStreamEndCapture", |call| {
        call.hex("stream", stream);
        graph.required()?;
        let mut state = state();
        let stream = state.stream(stream)?;
        let capture = state.captures.of(&stream).ok_or(ILLEGAL_STATE)?;
        let status = if capture.is_invalidated {
            Err(STREAM_CAPTURE_INVALIDATED)
        } else {
            Ok(std::mem::take(&mut capture.nodes))
        };
        state.captures.0.retain(|capture| !std::sync::Arc::ptr_eq(&capture.stream, &stream));
        graph.put(0)?;
        let nodes = status?;
        let handle = state.new_handle(Kind::Graph);
        state.graphs.insert(handle, nodes);
        graph.put(handle)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamIsCapturing(stream: Handle, status: Out<c_int>) -> c_int {
    enter("cuStreamIsCapturing", |call| {
        call.hex("stream", stream);
        status.required()?;
        let mut state = state();
        let stream = state.stream(stream)?;
        if stream.legacy && state.captures.legacy_is_captured(stream.context) {
            return Err(STREAM_CAPTURE_IMPLICIT);
        }
        let found = |capture: &mut Capture| if capture.is_invalidated { INVALIDATED } else { ACTIVE };
        status.put(state.captures.of(&stream).map_or(NONE, found))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphDestroy(graph: Handle) -> c_int {
    enter("cuGraphDestroy", |call| {
        call.hex("graph", graph);
        state().graphs.remove(&graph).map(|_| ()).ok_or(INVALID_HANDLE)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphInstantiateWithFlags(executable: Out<Handle>, graph: Handle, flags: u64) -> c_int {
    enter("cuGraphInstantiateWithFlags", |call| {
        call.hex("graph", graph);
        executable.required()?;
        let mut state = state();
        let nodes = state.graphs.get(&graph).cloned().ok_or(INVALID_HANDLE)?;
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        let handle = state.new_handle(Kind::Graph);
        state.executables.insert(handle, nodes);
        executable.put(handle)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphExecDestroy(executable: Handle) -> c_int {
    enter("cuGraphExecDestroy", |call| {
        call.hex("graph", executable);
        state().executables.remove(&executable).map(|_| ()).ok_or(INVALID_HANDLE)
    })
}

/// Queues what was captured, in order.
#[unsafe(no_mangle)]
pub extern "C" fn cuGraphLaunch(executable: Handle, stream: Handle) -> c_int {
    enter("cuGraphLaunch", |call| {
        call.hex("graph", executable);
        call.hex("stream", stream);
        let mut state = state();
        let stream = state.stream(stream)?;
        let nodes = state.executables.get(&executable).cloned().ok_or(INVALID_HANDLE)?;
        // A graph within a graph is not simulated.
        if state.captures.taking(&stream)?.is_some() {
            return Err(NOT_SUPPORTED);
        }
        for node in nodes {
            let (action, spans) = match node {
                Node::Copy { to, from } => {
                    (Action::Copy { to: to.clone(), from: Source::Memory(from.clone()) }, vec![to, from])
                }
                Node::Fill { to, value } => (Action::Fill { to: to.clone(), value }, vec![to]),
                Node::Host(function, argument) => (Action::Host(function, argument), Vec::new()),
            };
            let blocks = spans.into_iter().filter_map(|span: Span| span.block).collect();
            state.queue(&stream, Vec::new(), action, blocks);
        }
        Ok(())
    })
}
