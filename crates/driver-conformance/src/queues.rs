//! Streams, events and captures that end with their scope, and what holds a stream back.
#![expect(unsafe_code, reason = "hands functions and their arguments to the driver")]

use std::ffi::c_void;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::driver::*;

/// A stream. Those of the numbers below are not destroyed.
pub(crate) struct Stream(pub(crate) Handle);

pub(crate) const DEFAULT: Stream = Stream(0);
pub(crate) const LEGACY: Stream = Stream(1);
pub(crate) const PER_THREAD: Stream = Stream(2);

impl Stream {
    pub(crate) fn blocking() -> Self {
        Stream(value(|stream| cuStreamCreate(stream, 0)))
    }

    pub(crate) fn new() -> Self {
        Stream(value(|stream| cuStreamCreate(stream, NON_BLOCKING)))
    }

    pub(crate) fn query(&self) -> Reply {
        cuStreamQuery(self.0)
    }

    pub(crate) fn synchronize(&self) {
        cuStreamSynchronize(self.0).ok();
    }

    pub(crate) fn wait(&self, event: &Event) -> Reply {
        cuStreamWaitEvent(self.0, event.0, 0)
    }

    pub(crate) fn destroy(self) {
        let stream = self.0;
        std::mem::forget(self);
        cuStreamDestroy_v2(stream).ok();
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.0 > 2 {
            let _ = cuStreamSynchronize(self.0);
            let _ = cuStreamDestroy_v2(self.0);
        }
    }
}

pub(crate) struct Event(Handle);

impl Event {
    pub(crate) fn new() -> Self {
        Event(value(|event| cuEventCreate(event, DISABLE_TIMING)))
    }

    pub(crate) fn record(&self, stream: &Stream) -> Reply {
        cuEventRecord(self.0, stream.0)
    }

    pub(crate) fn query(&self) -> Reply {
        cuEventQuery(self.0)
    }

    pub(crate) fn synchronize(&self) -> Reply {
        cuEventSynchronize(self.0)
    }

    pub(crate) fn destroy(self) {
        let event = self.0;
        std::mem::forget(self);
        cuEventDestroy_v2(event).ok();
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let _ = cuEventDestroy_v2(self.0);
    }
}

// --- host functions in streams --------------------------------------------------------------

/// A gate opens by itself after so long: a check fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(10);
/// Long enough to find a driver out; one that keeps the rules passes with any time.
const LINGER: Duration = Duration::from_millis(20);

#[derive(Default)]
struct State {
    entered: bool,
    open: bool,
    expired: bool,
    passed: bool,
}

#[derive(Default)]
struct Shared(Mutex<State>, Condvar);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the state once `is_there`, or when patience has ended.
    fn wait(&self, is_there: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let waited = self.1.wait_timeout_while(self.lock(), PATIENCE, |state| !is_there(state));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Holds a stream: later work does not start until the gate is dropped.
pub(crate) struct Gate(Arc<Shared>);

unsafe extern "C" fn hold(shared: *mut c_void) {
    // SAFETY: `Gate::close` gave up one count of it to this function, which is called once.
    let shared = unsafe { Arc::from_raw(shared.cast_const().cast::<Shared>()) };
    shared.lock().entered = true;
    shared.1.notify_all();
    let mut state = shared.wait(|state| state.open);
    state.expired = !state.open;
    state.passed = true;
}

impl Gate {
    /// Returns once the stream has come to the gate.
    pub(crate) fn close(stream: &Stream) -> Self {
        let shared = Arc::new(Shared::default());
        // The function may still be called after an error, so its count is not taken back.
        let argument = Arc::into_raw(Arc::clone(&shared)).cast_mut().cast();
        cuLaunchHostFunc(stream.0, hold, argument).ok();
        let gate = Gate(shared);
        ensure(gate.0.wait(|state| state.entered).entered, "the stream to call its host function", "no call");
        gate
    }

    pub(crate) fn open(&self) {
        self.0.lock().open = true;
        self.0.1.notify_all();
    }

    /// Time for work to start that must not start yet.
    pub(crate) fn linger(&self) {
        std::thread::sleep(LINGER);
    }

    /// Lets the stream go on from another thread during `work`, which has to wait for it.
    pub(crate) fn open_during(&self, work: impl FnOnce()) {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                self.linger();
                self.open();
            });
            work();
        });
    }

    /// No call since `close` has waited for the held stream.
    pub(crate) fn is_still_shut(&self, what: &str) {
        let is_shut = !self.0.lock().expired;
        ensure(is_shut, &format!("{what} not to wait for the held stream"), "a wait until it was let go");
    }

    pub(crate) fn was_passed(&self) -> bool {
        self.0.lock().passed
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
}

/// Numbers, in the order of the calls of host functions.
#[derive(Clone, Default)]
pub(crate) struct Diary(Arc<Mutex<Vec<u32>>>);

unsafe extern "C" fn write_down(entry: *mut c_void) {
    // SAFETY: `Diary::note` leaked it for this function, which is called once.
    let entry = unsafe { Box::from_raw(entry.cast::<(Diary, u32)>()) };
    entry.0.lock().push(entry.1);
}

impl Diary {
    fn lock(&self) -> MutexGuard<'_, Vec<u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self, number: u32, stream: &Stream) {
        cuLaunchHostFunc(stream.0, write_down, Box::into_raw(Box::new((self.clone(), number))).cast()).ok();
    }

    pub(crate) fn has(&self, numbers: &[u32]) {
        equal("the calls", numbers, &self.lock());
    }
}

// --- captures -------------------------------------------------------------------------------

pub(crate) const GLOBAL: i32 = 0;
pub(crate) const THREAD_LOCAL: i32 = 1;
pub(crate) const RELAXED: i32 = 2;

pub(crate) const NOT_CAPTURED: i32 = 0;
pub(crate) const CAPTURED: i32 = 1;
const INVALIDATED: i32 = 2;

/// The capture of a stream, ended when dropped.
pub(crate) struct Capture<'s>(&'s Stream);

impl<'s> Capture<'s> {
    pub(crate) fn new(stream: &'s Stream, mode: i32) -> Self {
        cuStreamBeginCapture_v2(stream.0, mode).ok();
        Capture(stream)
    }

    /// The reply, and the graph.
    pub(crate) fn end(self) -> (Reply, Handle) {
        let stream = self.0;
        std::mem::forget(self);
        let mut graph = 0;
        (cuStreamEndCapture(stream.0, &mut graph), graph)
    }

    /// The capture went on, and its end makes a graph.
    pub(crate) fn end_whole(self) {
        equal("the stream's capture status", CAPTURED, capture_status(self.0));
        let (reply, graph) = self.end();
        reply.ok();
        cuGraphDestroy(graph).ok();
    }

    /// The capture is invalidated: its end says so, and makes no graph.
    pub(crate) fn end_invalidated(self) {
        equal("the stream's capture status", INVALIDATED, capture_status(self.0));
        let stream = self.0;
        let (reply, graph) = self.end();
        reply.is(STREAM_CAPTURE_INVALIDATED);
        equal("the graph", 0, graph);
        equal("the stream's capture status afterwards", NOT_CAPTURED, capture_status(stream));
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        let _ = end_capture(self.0);
    }
}

/// Ends a capture in another stream than its first, or on another thread.
pub(crate) fn end_capture(stream: &Stream) -> Reply {
    reply(|graph| cuStreamEndCapture(stream.0, graph))
}

pub(crate) fn capture_status(stream: &Stream) -> i32 {
    value(|status| cuStreamIsCapturing(stream.0, status))
}

pub(crate) fn exchange_mode(mut mode: i32) -> i32 {
    cuThreadExchangeStreamCaptureMode(&mut mode).ok();
    mode
}

/// The thread's mode is relaxed while this lives.
pub(crate) struct Relaxed(i32);

impl Relaxed {
    pub(crate) fn new() -> Self {
        Relaxed(exchange_mode(RELAXED))
    }
}

impl Drop for Relaxed {
    fn drop(&mut self) {
        let _ = cuThreadExchangeStreamCaptureMode(&mut self.0);
    }
}
