//! Stream capture: which streams and events belong to a capture, which calls it forbids, and what invalidates it.
//!
//! A call is forbidden ("Stream capture", CUDA C++ Programming Guide; `cuStreamBeginCapture`, `cuStreamIsCapturing`,
//! `cuThreadExchangeStreamCaptureMode`, CUDA Driver API) if it asks about captured work, which never runs; if it uses
//! the legacy stream while a blocking stream of its context is captured; or if it is potentially unsafe, and neither
//! its thread's mode nor the capture's allows it. No document lists the potentially unsafe calls: here they are those
//! that allocate, free, copy while the caller waits, ask, or wait. A forbidden call fails, and invalidates the captures.

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::Arc;

use crate::abi::{
    CAPTURED_EVENT, Handle, INVALID_VALUE, Outcome, STREAM_CAPTURE_IMPLICIT, STREAM_CAPTURE_INVALIDATED,
    STREAM_CAPTURE_ISOLATION, STREAM_CAPTURE_MERGE, STREAM_CAPTURE_UNSUPPORTED, Status,
};
use crate::life;
use crate::stream::Stream;

/// CU_STREAM_CAPTURE_MODE_GLOBAL and CU_STREAM_CAPTURE_MODE_RELAXED; THREAD_LOCAL is between them.
const GLOBAL: c_int = 0;
pub const RELAXED: c_int = 2;

thread_local! {
    static MODE: Cell<c_int> = const { Cell::new(GLOBAL) };
}

pub fn exchange_mode(mode: c_int) -> Outcome<c_int> {
    if (GLOBAL..=RELAXED).contains(&mode) { Ok(MODE.replace(mode)) } else { Err(INVALID_VALUE) }
}

/// A capture of one stream. A real driver also captures other streams that wait for captured work.
pub struct Capture {
    pub id: u64,
    pub stream: Arc<Stream>,
    pub thread: u32,
    pub mode: c_int,
    pub is_invalidated: bool,
}

/// The capture of an event's last recording, if that was captured.
#[derive(Clone, Copy)]
pub struct Mark(u64);

impl Capture {
    pub fn new(id: u64, stream: &Arc<Stream>, mode: c_int) -> Capture {
        let (stream, thread) = (Arc::clone(stream), life::thread_number());
        Capture { id, stream, thread, mode, is_invalidated: false }
    }

    fn is_blocking_in(&self, context: Handle) -> bool {
        self.stream.context == context && self.stream.blocking
    }
}

/// The captures under way.
#[derive(Default)]
pub struct Captures(pub Vec<Capture>);

impl Captures {
    /// Invalidates those captures; an error if there are any.
    fn refuse(&mut self, status: Status, are: impl Fn(&Capture) -> bool) -> Outcome {
        let those = self.0.iter_mut().filter(|capture| are(capture));
        let count = those.map(|capture| capture.is_invalidated = true).count();
        if count > 0 { Err(status) } else { Ok(()) }
    }

    pub fn of(&mut self, stream: &Arc<Stream>) -> Option<&mut Capture> {
        self.0.iter_mut().find(|capture| Arc::ptr_eq(&capture.stream, stream))
    }

    /// Checks a potentially unsafe call.
    pub fn is_safe(&mut self) -> Outcome {
        let (thread, mode) = (life::thread_number(), MODE.get());
        self.refuse(STREAM_CAPTURE_UNSUPPORTED, |capture| match mode {
            RELAXED => false,
            _ if capture.thread == thread => capture.mode != RELAXED,
            mode => mode == GLOBAL && capture.mode == GLOBAL,
        })
    }

    /// The capture, if any, that takes what a call queues in `stream`.
    pub fn taking(&mut self, stream: &Arc<Stream>) -> Outcome<Option<&mut Capture>> {
        if stream.legacy {
            let context = stream.context;
            return self.refuse(STREAM_CAPTURE_IMPLICIT, |capture| capture.is_blocking_in(context)).map(|()| None);
        }
        match self.of(stream) {
            Some(capture) if capture.is_invalidated => Err(STREAM_CAPTURE_INVALIDATED),
            capture => Ok(capture),
        }
    }

    /// Checks a call that queries or waits for the work of `stream`.
    pub fn may_ask_about(&mut self, stream: &Arc<Stream>) -> Outcome {
        self.is_safe()?;
        match self.taking(stream)? {
            Some(capture) => {
                capture.is_invalidated = true;
                Err(STREAM_CAPTURE_UNSUPPORTED)
            }
            None => Ok(()),
        }
    }

    /// Checks a call that waits for all work in a context.
    pub fn may_wait_for(&mut self, context: Handle) -> Outcome {
        self.is_safe()?;
        self.refuse(STREAM_CAPTURE_UNSUPPORTED, |capture| capture.stream.context == context)
    }

    /// Invalidates nothing.
    pub fn legacy_is_captured(&self, context: Handle) -> bool {
        self.0.iter().any(|capture| capture.is_blocking_in(context))
    }

    /// Checks a call that queries or waits for an event.
    pub fn may_ask_about_event(&mut self, mark: Option<&Mark>) -> Outcome {
        let Some(mark) = mark else { return self.is_safe() };
        self.refuse(CAPTURED_EVENT, |capture| capture.id == mark.0).and(Err(CAPTURED_EVENT))
    }

    /// The mark of an event that is recorded in `stream`.
    pub fn mark(&mut self, stream: &Arc<Stream>) -> Outcome<Option<Mark>> {
        Ok(self.taking(stream)?.map(|capture| Mark(capture.id)))
    }

    /// Makes `stream` wait for an event with that mark if the wait is captured; returns whether it is. `is_recorded`: the event
    /// was recorded, not captured.
    pub fn wait_in_capture(&mut self, stream: &Arc<Stream>, mark: Option<&Mark>, is_recorded: bool) -> Outcome<bool> {
        let own = self.taking(stream)?.map(|capture| capture.id);
        let Some(&Mark(other)) = mark else {
            // Captured work cannot wait for work that is not captured.
            let isolates = own.filter(|_| is_recorded);
            self.refuse(STREAM_CAPTURE_ISOLATION, |capture| Some(capture.id) == isolates)?;
            return Ok(own.is_some());
        };
        if own != Some(other) {
            self.refuse(STREAM_CAPTURE_MERGE, |capture| Some(capture.id) == own || capture.id == other)?;
        }
        Ok(true)
    }
}
