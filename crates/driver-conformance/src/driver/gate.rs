//! Host functions in streams: one that counts, and one that holds a stream back until the test opens it.
#![expect(unsafe_code, reason = "hands a function and its argument to the driver")]

use super::calls::call;
use super::queues::Stream;
use super::status::{SUCCESS, Status};
use super::table::Handle;
use crate::verdict::{Outcome, Verdict, ensure};
use std::ffi::c_void;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A gate opens by itself after so long: a call that waits for a held stream makes a check fail, not hang.
const PATIENCE: Duration = Duration::from_secs(10);

/// A driver that keeps the rules passes however long it is; one that does not is found out if this is long enough.
const LINGER: Duration = Duration::from_millis(20);

#[derive(Default)]
struct State {
    entered: bool,
    open: bool,
    expired: bool,
    passed: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Holds a stream: what is queued behind it does not start. Opened when dropped, and by itself after a while.
pub(crate) struct Gate(Arc<Shared>);

unsafe extern "C" fn hold(user: *mut c_void) {
    // SAFETY: `Gate::close` gave up one count of it to this function, which is called once.
    let shared = unsafe { Arc::from_raw(user.cast_const().cast::<Shared>()) };
    let mut state = shared.lock();
    state.entered = true;
    shared.changed.notify_all();
    let until = Instant::now() + PATIENCE;
    while !state.open {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            state.expired = true;
            break;
        }
        state = shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
    }
    state.passed = true;
    shared.changed.notify_all();
}

impl Gate {
    /// Holds the stream back from here on.
    pub(crate) fn close(stream: &Stream) -> Result<Self, Verdict> {
        let shared = Arc::new(Shared::default());
        let user = Arc::into_raw(Arc::clone(&shared)).cast_mut().cast::<c_void>();
        let reply = call!(cuLaunchHostFunc, stream.handle(), hold, user);
        // The function may still be called after an error, for all that is known: its count is not taken back.
        reply.ok()?;
        Ok(Gate(shared))
    }

    pub(crate) fn open(&self) {
        self.0.lock().open = true;
        self.0.changed.notify_all();
    }

    /// Waits until the stream has come to the gate, which it does unless something holds the stream already.
    pub(crate) fn await_stream(&self) -> Outcome {
        let state = self.0.lock();
        let waited = self.0.changed.wait_timeout_while(state, PATIENCE, |state| !state.entered);
        let entered = waited.unwrap_or_else(PoisonError::into_inner).0.entered;
        ensure(entered, "the stream to call its host function", "no call for seconds")
    }

    /// Gives work that must not start before the gate opens the time to start all the same.
    pub(crate) fn linger(&self) {
        std::thread::sleep(LINGER);
    }

    /// That nothing between closing and here has waited for the held stream.
    pub(crate) fn is_still_shut(&self, what: &str) -> Outcome {
        let shut = !self.0.lock().expired;
        ensure(shut, format!("{what} not to wait for the held stream"), "it waited until the stream was let go")
    }

    /// Whether the stream went on.
    pub(crate) fn was_passed(&self) -> bool {
        self.0.lock().passed
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
}

/// Numbers, in the order in which host functions were called with them.
#[derive(Clone, Default)]
pub(crate) struct Diary(Arc<Mutex<Vec<u32>>>);

struct Entry {
    diary: Diary,
    stream: Handle,
    number: u32,
}

unsafe extern "C" fn write_down(user: *mut c_void) {
    // SAFETY: `Diary::note` leaked it for this function, which is called once.
    let entry = unsafe { Box::from_raw(user.cast::<Entry>()) };
    entry.diary.lock().push(entry.number);
}

unsafe extern "C" fn write_down_with_status(stream: Handle, status: Status, user: *mut c_void) {
    // SAFETY: `Diary::note_by_callback` leaked it for this function, which is called once.
    let entry = unsafe { Box::from_raw(user.cast::<Entry>()) };
    let as_documented = stream == entry.stream && status == SUCCESS;
    entry.diary.lock().push(if as_documented { entry.number } else { u32::MAX });
}

impl Diary {
    fn lock(&self) -> MutexGuard<'_, Vec<u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a function that writes the number down.
    pub(crate) fn note(&self, number: u32, stream: &Stream) -> Outcome {
        let reply = call!(cuLaunchHostFunc, stream.handle(), write_down, self.entry(number, stream));
        reply.ok()
    }

    /// The same by the older call, which tells the function its stream and status.
    pub(crate) fn note_by_callback(&self, number: u32, stream: &Stream) -> Outcome {
        let entry = self.entry(number, stream);
        let reply = call!(cuStreamAddCallback, stream.handle(), write_down_with_status, entry, 0);
        reply.ok()
    }

    fn entry(&self, number: u32, stream: &Stream) -> *mut c_void {
        Box::into_raw(Box::new(Entry { diary: self.clone(), stream: stream.handle(), number })).cast()
    }

    pub(crate) fn pages(&self) -> Vec<u32> {
        self.lock().clone()
    }
}
