//! Captures of streams, ended when dropped, and the graphs that they make.
#![expect(unsafe_code, reason = "calls the driver")]

use super::calls::call;
use super::queues::Stream;
use super::status::STREAM_CAPTURE_INVALIDATED;
use super::table::Handle;
use crate::verdict::{Answer, Done, Must, Outcome, Verdict, equal};

pub(crate) const GLOBAL: i32 = 0;
pub(crate) const THREAD_LOCAL: i32 = 1;
pub(crate) const RELAXED: i32 = 2;

pub(crate) const NOT_CAPTURED: i32 = 0;
pub(crate) const CAPTURED: i32 = 1;
pub(crate) const INVALIDATED: i32 = 2;

pub(crate) struct Capture<'s>(&'s Stream);

impl<'s> Capture<'s> {
    pub(crate) fn new(stream: &'s Stream, mode: i32) -> Result<Self, Verdict> {
        Self::begin(stream, mode).must()?;
        Ok(Capture(stream))
    }

    pub(crate) fn begin(stream: &Stream, mode: i32) -> Done {
        Ok(call!(cuStreamBeginCapture_v2, stream.handle(), mode))
    }

    pub(crate) fn end(self) -> Answer<Graph> {
        let stream = self.0;
        std::mem::forget(self);
        let mut graph = 0;
        Ok((call!(cuStreamEndCapture, stream.handle(), &mut graph), Graph(graph)))
    }

    /// On another stream than the capture's first, or on another thread.
    pub(crate) fn end_of(stream: &Stream) -> Done {
        let mut graph = 0;
        Ok(call!(cuStreamEndCapture, stream.handle(), &mut graph))
    }

    /// The capture goes on, and its end makes a graph.
    pub(crate) fn end_whole(self) -> Outcome {
        equal("the stream's capture status", CAPTURED, status(self.0).must()?)?;
        self.end().must()?;
        Ok(())
    }

    /// The capture is invalidated: its end says so, and makes no graph.
    pub(crate) fn end_invalidated(self) -> Outcome {
        equal("the stream's capture status", INVALIDATED, status(self.0).must()?)?;
        let stream = self.0;
        let (reply, graph) = self.end()?;
        reply.is(STREAM_CAPTURE_INVALIDATED)?;
        equal("the graph", 0, graph.0)?;
        equal("the stream's capture status afterwards", NOT_CAPTURED, status(stream).must()?)
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        let _ = Self::end_of(self.0);
    }
}

pub(crate) fn status(stream: &Stream) -> Answer<i32> {
    let mut status = -1;
    Ok((call!(cuStreamIsCapturing, stream.handle(), &mut status), status))
}

/// The status of a stream's capture, and the capture's number.
pub(crate) fn info(stream: &Stream) -> Answer<(i32, u64)> {
    let (mut status, mut id) = (-1, 0);
    let none = std::ptr::null_mut();
    let reply = call!(cuStreamGetCaptureInfo_v2, stream.handle(), &mut status, &mut id, none, none.cast(), none);
    Ok((reply, (status, id)))
}

pub(crate) fn exchange_mode(mode: i32) -> Answer<i32> {
    let mut mode = mode;
    Ok((call!(cuThreadExchangeStreamCaptureMode, &mut mode), mode))
}

/// The thread's mode is relaxed while this lives.
pub(crate) struct Relaxed(i32);

impl Relaxed {
    pub(crate) fn new() -> Result<Self, Verdict> {
        Ok(Relaxed(exchange_mode(RELAXED).must()?))
    }
}

impl Drop for Relaxed {
    fn drop(&mut self) {
        let _ = exchange_mode(self.0);
    }
}

pub(crate) struct Graph(Handle);

impl Graph {
    /// Runs it once.
    pub(crate) fn launch(&self, stream: &Stream) -> Outcome {
        let mut executable = 0;
        call!(cuGraphInstantiateWithFlags, &mut executable, self.0, 0).ok()?;
        let launched = call!(cuGraphLaunch, executable, stream.handle());
        stream.synchronize().must()?;
        call!(cuGraphExecDestroy, executable).ok()?;
        launched.ok()
    }

    fn destroy(&self) -> Done {
        Ok(call!(cuGraphDestroy, self.0))
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if self.0 != 0 {
            let _ = self.destroy();
        }
    }
}
