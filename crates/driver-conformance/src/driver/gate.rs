//! Host functions in streams: one that notes a number, and one that holds a stream back.
#![expect(unsafe_code, reason = "hands a function and its argument to the driver")]

use super::calls::call;
use super::queues::Stream;
use crate::verdict::{Outcome, Verdict, ensure};
use std::ffi::c_void;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

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
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Holds a stream: work behind it does not start. Opened when dropped.
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
    pub(crate) fn close(stream: &Stream) -> Result<Self, Verdict> {
        let shared = Arc::new(Shared::default());
        let user = Arc::into_raw(Arc::clone(&shared)).cast_mut().cast::<c_void>();
        let reply = call!(cuLaunchHostFunc, stream.handle(), hold, user);
        // The function may still be called after an error, so its count is not taken back.
        reply.ok()?;
        Ok(Gate(shared))
    }

    pub(crate) fn open(&self) {
        self.0.lock().open = true;
        self.0.changed.notify_all();
    }

    /// The stream comes to the gate unless something else holds it.
    pub(crate) fn await_stream(&self) -> Outcome {
        let state = self.0.lock();
        let waited = self.0.changed.wait_timeout_while(state, PATIENCE, |state| !state.entered);
        let entered = waited.unwrap_or_else(PoisonError::into_inner).0.entered;
        ensure(entered, "the stream to call its host function", "no call for seconds")
    }

    /// Time for work to start that must not start yet.
    pub(crate) fn linger(&self) {
        std::thread::sleep(LINGER);
    }

    /// Lets the stream go on from another thread during `work`, which may wait for it.
    pub(crate) fn open_during(&self, work: impl FnOnce() -> Outcome) -> Outcome {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                self.linger();
                self.open();
            });
            work()
        })
    }

    /// No call since `close` has waited for the held stream.
    pub(crate) fn is_still_shut(&self, what: &str) -> Outcome {
        let shut = !self.0.lock().expired;
        ensure(shut, format!("{what} not to wait for the held stream"), "it waited until the stream was let go")
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

struct Entry {
    diary: Diary,
    number: u32,
}

unsafe extern "C" fn write_down(user: *mut c_void) {
    // SAFETY: `Diary::note` leaked it for this function, which is called once.
    let entry = unsafe { Box::from_raw(user.cast::<Entry>()) };
    entry.diary.lock().push(entry.number);
}

impl Diary {
    fn lock(&self) -> MutexGuard<'_, Vec<u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self, number: u32, stream: &Stream) -> Outcome {
        let entry = Box::into_raw(Box::new(Entry { diary: self.clone(), number })).cast();
        call!(cuLaunchHostFunc, stream.handle(), write_down, entry).ok()
    }

    pub(crate) fn pages(&self) -> Vec<u32> {
        self.lock().clone()
    }
}
