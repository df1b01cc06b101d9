//! The entry points for events.
#![expect(unsafe_code, reason = "entry points have C names")]

use std::ffi::{c_float, c_int, c_uint};
use std::sync::{Arc, OnceLock};

use crate::abi::{CONTEXT_IS_DESTROYED, Handle, INVALID_HANDLE, INVALID_VALUE, NOT_READY, Out, Outcome};
use crate::entry::enter;
use crate::event::{Event, Recorded};
use crate::operation::Action;
use crate::state::{Kind, State, state};

/// CU_EVENT_DISABLE_TIMING and CU_EVENT_INTERPROCESS; the remaining flag is CU_EVENT_BLOCKING_SYNC.
const DISABLE_TIMING: c_uint = 2;
const INTERPROCESS: c_uint = 4;
const FLAGS: c_uint = 7;

impl State {
    /// Aborts if the event was destroyed.
    pub fn event(&mut self, handle: Handle) -> Outcome<&mut Event> {
        if !self.events.contains_key(&handle) {
            let lost = self.check_not_destroyed(handle, Kind::Event, "event");
            return Err(if lost { CONTEXT_IS_DESTROYED } else { INVALID_HANDLE });
        }
        self.events.get_mut(&handle).ok_or(INVALID_HANDLE)
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventCreate(event: Out<Handle>, flags: c_uint) -> c_int {
    enter("cuEventCreate", |call| {
        call.number("flags", flags);
        event.required()?;
        let mut state = state();
        let context = state.current()?;
        if flags & !FLAGS != 0 || flags & (INTERPROCESS | DISABLE_TIMING) == INTERPROCESS {
            return Err(INVALID_VALUE);
        }
        let handle = state.new_handle(Kind::Event);
        state.events.insert(handle, Event { context, flags, recorded: None, mark: None });
        call.hex("event", handle);
        event.put(handle)
    })
}

/// Event and stream must be of one context (`cuEventRecord`).
#[unsafe(no_mangle)]
pub extern "C" fn cuEventRecord(event: Handle, stream: Handle) -> c_int {
    enter("cuEventRecord", |call| {
        call.hex("event", event);
        call.hex("stream", stream);
        let mut state = state();
        let stream = state.stream(stream)?;
        if state.event(event)?.context != stream.context {
            return Err(INVALID_HANDLE);
        }
        if let Some(mark) = state.captures.mark(&stream)? {
            state.event(event)?.mark = Some(mark);
            return Ok(());
        }
        let time = Arc::new(OnceLock::new());
        let token = state.queue(&stream, Vec::new(), Action::Stamp(Arc::clone(&time)), Vec::new());
        let event = state.event(event)?;
        (event.recorded, event.mark) = (Some(Recorded { token, time }), None);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventQuery(event: Handle) -> c_int {
    enter("cuEventQuery", |call| {
        call.hex("event", event);
        let mut state = state();
        state.current()?;
        let mark = state.event(event)?.mark;
        state.captures.may_ask_about_event(mark.as_ref())?;
        let recorded = state.event(event)?.recorded.as_ref();
        if recorded.is_none_or(|recorded| recorded.token.is_done()) { Ok(()) } else { Err(NOT_READY) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventSynchronize(event: Handle) -> c_int {
    enter("cuEventSynchronize", |call| {
        call.hex("event", event);
        let mut guard = state();
        guard.current()?;
        let mark = guard.event(event)?.mark;
        guard.captures.may_ask_about_event(mark.as_ref())?;
        let recorded = guard.event(event)?.recorded.clone();
        if let Some(recorded) = recorded {
            guard = recorded.token.wait(guard);
        }
        guard.current().map(|_| ())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventElapsedTime(milliseconds: Out<c_float>, start: Handle, end: Handle) -> c_int {
    enter("cuEventElapsedTime", |call| {
        call.hex("event", start);
        call.hex("end", end);
        milliseconds.required()?;
        let mut state = state();
        state.current()?;
        let mut times = [None; 2];
        let mut contexts = [0; 2];
        for (index, handle) in [start, end].into_iter().enumerate() {
            let mark = state.event(handle)?.mark;
            state.captures.may_ask_about_event(mark.as_ref())?;
            let event = state.event(handle)?;
            let recorded =
                event.recorded.as_ref().filter(|_| event.flags & DISABLE_TIMING == 0).ok_or(INVALID_HANDLE)?;
            times[index] = recorded.time.get().copied().filter(|_| recorded.token.is_done());
            contexts[index] = event.context;
        }
        if contexts[0] != contexts[1] {
            return Err(INVALID_HANDLE);
        }
        let (Some(start), Some(end)) = (times[0], times[1]) else { return Err(NOT_READY) };
        let forward = end.saturating_duration_since(start).as_secs_f32();
        let backward = start.saturating_duration_since(end).as_secs_f32();
        milliseconds.put((forward - backward) * 1000.0)
    })
}

/// Returns at once; a queued recording has no effect any more.
#[unsafe(no_mangle)]
pub extern "C" fn cuEventDestroy_v2(event: Handle) -> c_int {
    enter("cuEventDestroy_v2", |call| {
        call.hex("event", event);
        let mut state = state();
        state.current()?;
        state.event(event)?;
        state.events.remove(&event);
        state.note_destroyed(event);
        Ok(())
    })
}
