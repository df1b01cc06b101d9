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
    Address, CAPTURED_EVENT, Handle, INVALID_VALUE, Outcome, STREAM_CAPTURE_IMPLICIT, STREAM_CAPTURE_INVALIDATED,
    STREAM_CAPTURE_ISOLATION, STREAM_CAPTURE_MERGE, STREAM_CAPTURE_UNSUPPORTED, Status,
};
use crate::block::Span;
use crate::life;
use crate::operation::HostFunction;
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

pub struct Capture {
    pub id: u64,
    pub origin: Arc<Stream>,
    pub thread: u32,
    pub mode: c_int,
    pub is_invalidated: bool,
    streams: Vec<Member>,
    /// In an order in which they may run.
    pub nodes: Vec<Node>,
}

struct Member {
    stream: Arc<Stream>,
    /// How many of its operations were captured, and for how many of them another stream of the capture waits.
    work: u64,
    joined: u64,
}

#[derive(Clone)]
pub enum Node {
    Copy { to: Span, from: Span },
    Fill { to: Span, value: u8 },
    Host(HostFunction, Address),
}

/// An event's last recording, if that was captured.
#[derive(Clone)]
pub struct Mark {
    capture: u64,
    stream: Arc<Stream>,
    work: u64,
}

impl Capture {
    pub fn new(id: u64, origin: &Arc<Stream>, mode: c_int) -> Capture {
        let streams = vec![Member { stream: Arc::clone(origin), work: 0, joined: 0 }];
        let thread = life::thread_number();
        Capture { id, origin: Arc::clone(origin), thread, mode, is_invalidated: false, streams, nodes: Vec::new() }
    }

    fn member(&mut self, stream: &Arc<Stream>) -> Option<&mut Member> {
        self.streams.iter_mut().find(|member| Arc::ptr_eq(&member.stream, stream))
    }

    pub fn has(&self, stream: &Arc<Stream>) -> bool {
        self.streams.iter().any(|member| Arc::ptr_eq(&member.stream, stream))
    }

    fn is_in(&self, context: Handle) -> bool {
        self.streams.iter().any(|member| member.stream.context == context)
    }

    fn is_blocking_in(&self, context: Handle) -> bool {
        self.streams.iter().any(|member| member.stream.context == context && member.stream.blocking)
    }

    /// Whether the work of every stream leads back to the first.
    pub fn is_joined(&self) -> bool {
        self.streams.iter().all(|member| Arc::ptr_eq(&member.stream, &self.origin) || member.joined == member.work)
    }

    /// The stream is in the capture.
    pub fn add(&mut self, stream: &Arc<Stream>, node: Option<Node>) {
        self.nodes.extend(node);
        if let Some(member) = self.member(stream) {
            member.work += 1;
        }
    }
}

/// Those under way.
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
        self.0.iter_mut().find(|capture| capture.has(stream))
    }

    /// For a potentially unsafe call.
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

    /// For a call that asks about or waits for the work of `stream`.
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

    /// For a call that waits for everything in a context.
    pub fn may_wait_for(&mut self, context: Handle) -> Outcome {
        self.is_safe()?;
        self.refuse(STREAM_CAPTURE_UNSUPPORTED, |capture| capture.is_in(context))
    }

    /// This question invalidates nothing.
    pub fn legacy_is_captured(&self, context: Handle) -> bool {
        self.0.iter().any(|capture| capture.is_blocking_in(context))
    }

    /// For a call that asks about or waits for an event.
    pub fn may_ask_about_event(&mut self, mark: Option<&Mark>) -> Outcome {
        let Some(mark) = mark else { return self.is_safe() };
        let id = mark.capture;
        self.refuse(CAPTURED_EVENT, |capture| capture.id == id).and(Err(CAPTURED_EVENT))
    }

    /// For an event that is recorded in `stream`.
    pub fn mark(&mut self, stream: &Arc<Stream>) -> Outcome<Option<Mark>> {
        let Some(capture) = self.taking(stream)? else { return Ok(None) };
        let capture_id = capture.id;
        let work = capture.member(stream).map_or(0, |member| member.work);
        Ok(Some(Mark { capture: capture_id, stream: Arc::clone(stream), work }))
    }

    /// Lets `stream` wait for an event with that mark, as far as captures go; `true` if nothing is left to do.
    /// `is_recorded`: the event was recorded, not captured.
    pub fn wait_in_capture(&mut self, stream: &Arc<Stream>, mark: Option<&Mark>, is_recorded: bool) -> Outcome<bool> {
        let own = self.taking(stream)?.map(|capture| capture.id);
        let Some(mark) = mark else {
            // Captured work cannot wait for work that is not captured.
            let isolates = own.filter(|_| is_recorded);
            self.refuse(STREAM_CAPTURE_ISOLATION, |capture| Some(capture.id) == isolates)?;
            return Ok(own.is_some());
        };
        let other = mark.capture;
        if own.is_some_and(|own| own != other) {
            return self.refuse(STREAM_CAPTURE_MERGE, |c| Some(c.id) == own || c.id == other).map(|()| true);
        }
        let Some(capture) = self.0.iter_mut().find(|capture| capture.id == other) else {
            return Err(CAPTURED_EVENT);
        };
        if capture.is_invalidated {
            return Err(STREAM_CAPTURE_INVALIDATED);
        }
        if stream.legacy {
            capture.is_invalidated = true;
            return Err(STREAM_CAPTURE_IMPLICIT);
        }
        if let Some(member) = capture.member(&mark.stream) {
            member.joined = member.joined.max(mark.work);
        }
        match capture.member(stream) {
            Some(member) => member.work += 1,
            None => capture.streams.push(Member { stream: Arc::clone(stream), work: 1, joined: 0 }),
        }
        Ok(true)
    }
}
