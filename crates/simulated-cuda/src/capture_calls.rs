//! The entry points for stream capture. A graph is a handle: nothing runs one.
#![expect(unsafe_code, reason = "entry points have C names")]

use std::ffi::c_int;

use crate::abi::{
    Handle, ILLEGAL_STATE, INVALID_HANDLE, INVALID_VALUE, Out, STREAM_CAPTURE_IMPLICIT, STREAM_CAPTURE_INVALIDATED,
    STREAM_CAPTURE_UNSUPPORTED,
};
use crate::capture::{Capture, RELAXED, exchange_mode};
use crate::entry::enter;
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
        let is_invalidated = capture.is_invalidated;
        state.captures.0.retain(|capture| !std::sync::Arc::ptr_eq(&capture.stream, &stream));
        graph.put(0)?;
        if is_invalidated {
            return Err(STREAM_CAPTURE_INVALIDATED);
        }
        let handle = state.new_handle(Kind::Graph);
        state.graphs.insert(handle);
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
        if state().graphs.remove(&graph) { Ok(()) } else { Err(INVALID_HANDLE) }
    })
}
