//! The entry points for streams.
#![expect(unsafe_code, reason = "entry points have C names, and take the program's functions")]

use std::ffi::{c_int, c_uint};
use std::sync::Arc;

use crate::abi::{
    Address, CONTEXT_IS_DESTROYED, Handle, INVALID_CONTEXT, INVALID_HANDLE, INVALID_VALUE, NOT_READY, Out, Outcome,
    STREAM_CAPTURE_UNSUPPORTED,
};
use crate::entry::enter;
use crate::life;
use crate::operation::{Action, HostFunction};
use crate::state::{Kind, State, state};
use crate::stream::{Stream, Token};

/// CU_STREAM_NON_BLOCKING.
const NON_BLOCKING: c_uint = 1;
/// CU_STREAM_LEGACY and CU_STREAM_PER_THREAD: no handles of streams.
const LEGACY: Handle = 1;
const PER_THREAD: Handle = 2;

impl State {
    pub fn legacy_stream(&self, context: Handle) -> Outcome<Arc<Stream>> {
        let context = self.contexts.get(&context).filter(|context| context.active).ok_or(INVALID_CONTEXT)?;
        Ok(Arc::clone(&context.legacy))
    }

    /// A default stream is that of the current context. Aborts if the stream was destroyed.
    pub fn stream(&mut self, handle: Handle) -> Outcome<Arc<Stream>> {
        let current = self.current()?;
        match handle {
            0 | LEGACY => self.legacy_stream(current),
            PER_THREAD => self.per_thread_stream(current),
            _ => {
                if let Some(stream) = self.streams.get(&handle) {
                    let stream = Arc::clone(stream);
                    let broken = self.contexts.get(&stream.context).and_then(|context| context.broken);
                    return broken.map_or(Ok(stream), Err);
                }
                let lost = self.check_not_destroyed(handle, Kind::Stream, "stream");
                Err(if lost { CONTEXT_IS_DESTROYED } else { INVALID_HANDLE })
            }
        }
    }

    /// It blocks as streams do that programs create.
    fn per_thread_stream(&mut self, current: Handle) -> Outcome<Arc<Stream>> {
        let context = self.contexts.get_mut(&current).ok_or(INVALID_CONTEXT)?;
        let streams = &mut context.streams;
        let new = || {
            let stream = Stream::new(PER_THREAD, current, false, true);
            streams.push(Arc::clone(&stream));
            stream
        };
        Ok(Arc::clone(context.per_thread.entry(life::thread_number()).or_insert_with(new)))
    }

    /// The operations that a query or a wait covers: for the legacy stream, all that its next work would wait for.
    fn outstanding(&self, stream: &Arc<Stream>) -> Vec<Token> {
        let mut tokens = if stream.legacy { self.predecessors(stream) } else { Vec::new() };
        tokens.push(stream.last());
        tokens
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamCreate(stream: Out<Handle>, flags: c_uint) -> c_int {
    enter("cuStreamCreate", |call| {
        call.number("flags", flags);
        stream.required()?;
        let mut state = state();
        let current = state.current()?;
        if flags & !NON_BLOCKING != 0 {
            return Err(INVALID_VALUE);
        }
        let handle = state.new_handle(Kind::Stream);
        let new = Stream::new(handle, current, false, flags & NON_BLOCKING == 0);
        if let Some(context) = state.contexts.get_mut(&current) {
            context.streams.push(Arc::clone(&new));
        }
        state.streams.insert(handle, new);
        call.hex("stream", handle);
        stream.put(handle)
    })
}

/// Returns at once; queued work is still done.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamDestroy_v2(stream: Handle) -> c_int {
    enter("cuStreamDestroy_v2", |call| {
        call.hex("stream", stream);
        let mut state = state();
        if stream <= PER_THREAD {
            return Err(INVALID_HANDLE);
        }
        let stream = state.stream(stream)?;
        if let Some(capture) = state.captures.of(&stream) {
            capture.is_invalidated = true;
            return Err(STREAM_CAPTURE_UNSUPPORTED);
        }
        state.streams.remove(&stream.handle);
        state.note_destroyed(stream.handle);
        stream.close();
        // Streams with work left stay in the list: the legacy stream must still wait for them.
        if let Some(context) = state.contexts.get_mut(&stream.context) {
            context.streams.retain(|other| !other.is_closed() || !other.is_idle());
        }
        Ok(())
    })
}

fn about(function: &'static str, handle: Handle, body: impl FnOnce(&mut State, Arc<Stream>) -> Outcome) -> c_int {
    enter(function, |call| {
        call.hex("stream", handle);
        let mut state = state();
        let stream = state.stream(handle)?;
        body(&mut state, stream)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamQuery(stream: Handle) -> c_int {
    about("cuStreamQuery", stream, |state, stream| {
        state.captures.may_ask_about(&stream)?;
        if state.outstanding(&stream).iter().all(Token::is_done) { Ok(()) } else { Err(NOT_READY) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamSynchronize(stream: Handle) -> c_int {
    enter("cuStreamSynchronize", |call| {
        call.hex("stream", stream);
        let mut guard = state();
        let stream = guard.stream(stream)?;
        guard.captures.may_ask_about(&stream)?;
        for token in guard.outstanding(&stream) {
            guard = token.wait(guard);
        }
        guard.current().map(|_| ())
    })
}

/// An event that was never recorded is no wait.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamWaitEvent(stream: Handle, event: Handle, flags: c_uint) -> c_int {
    enter("cuStreamWaitEvent", |call| {
        call.hex("stream", stream);
        call.hex("event", event);
        let mut state = state();
        let stream = state.stream(stream)?;
        let recorded = state.event(event)?.recorded.clone();
        // CU_EVENT_WAIT_EXTERNAL: a graph's wait at each launch, not simulated.
        if flags & !1 != 0 {
            return Err(INVALID_VALUE);
        }
        let mark = state.event(event)?.mark;
        if state.captures.wait_in_capture(&stream, mark.as_ref(), recorded.is_some())? {
            return Ok(());
        }
        if let Some(recorded) = recorded {
            state.queue(&stream, vec![recorded.token], Action::Join, Vec::new());
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamGetCtx(stream: Handle, context: Out<Handle>) -> c_int {
    about("cuStreamGetCtx", stream, |_, stream| context.put(stream.context))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLaunchHostFunc(stream: Handle, function: Option<HostFunction>, argument: Address) -> c_int {
    about("cuLaunchHostFunc", stream, |state, stream| {
        let function = function.ok_or(INVALID_VALUE)?;
        if state.captures.taking(&stream)?.is_some() {
            return Ok(());
        }
        state.queue(&stream, Vec::new(), Action::Host(function, argument), Vec::new());
        Ok(())
    })
}
