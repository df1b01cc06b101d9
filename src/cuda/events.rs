//! Events behind work of a stream.
#![expect(unsafe_code, reason = "the driver's functions are called")]

use std::ffi::c_uint;

use cudarc::driver::sys::{CUevent, CUevent_flags};

use super::capture::RelaxedCapture;
use super::context::{Context, ContextGuard};
use super::driver::{Driver, Stream, output};
use super::status;
use crate::error::DriverFailure;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    handle: usize,
    context: Context,
    /// 0 if the driver has none. A reset ends the context with its events, and gives it another id.
    context_id: u64,
}

impl Event {
    pub fn new(driver: &Driver, guard: &ContextGuard<'_>) -> Result<Event, DriverFailure> {
        let context_id = guard.context_id()?;
        const FLAGS: c_uint = CUevent_flags::CU_EVENT_DISABLE_TIMING as c_uint;
        // SAFETY: a context is current.
        let handle: CUevent = output(std::ptr::null_mut(), |handle| unsafe { driver.event_create(handle, FLAGS) })?;
        Ok(Event { handle: handle.expose_provenance(), context: guard.context, context_id })
    }

    /// `stream` is of the same context.
    pub fn record(&self, driver: &Driver, stream: Stream<'_>) -> Result<(), DriverFailure> {
        // SAFETY: the event exists, as its context is current.
        unsafe { driver.event_record(self.handle(), stream.handle()) }
    }

    /// Makes later work of `stream`, of any context, wait for the event.
    pub fn make_wait(&self, driver: &Driver, stream: Stream<'_>) -> Result<(), DriverFailure> {
        // SAFETY: as for `record`.
        unsafe { driver.stream_wait_event(stream.handle(), self.handle(), 0) }
    }

    /// Replaces the event by one of `home`, the block's context, that completes at the same time: the program may destroy
    /// another context, whose handle the driver would follow.
    pub fn into_context(self, driver: &Driver, home: Context) -> Result<Event, DriverFailure> {
        if self.context == home {
            return Ok(self);
        }
        let copied = self.copied(driver, home);
        // A queued wait stays valid.
        self.destroy(driver);
        copied
    }

    fn copied(&self, driver: &Driver, home: Context) -> Result<Event, DriverFailure> {
        let guard = ContextGuard::enter(driver, home)?;
        let _relaxed = RelaxedCapture::begin(driver);
        let event = Event::new(driver, &guard)?;
        let recorded = driver.new_stream().and_then(|stream| {
            let recorded = self.make_wait(driver, stream).and_then(|()| event.record(driver, stream));
            // SAFETY: the stream is not used again. Its work completes all the same.
            let _ = unsafe { driver.stream_destroy(stream.handle()) };
            recorded
        });
        recorded.map(|()| event).inspect_err(|_| event.destroy(driver))
    }

    /// Whether the event is complete; then it ends.
    pub fn end_if_complete(self, driver: &Driver) -> Result<bool, DriverFailure> {
        let _guard = self.enter(driver)?;
        // SAFETY: the event exists, because its context does and has the same id.
        match unsafe { driver.event_query(self.handle()) } {
            Ok(()) => {
                self.end(driver);
                Ok(true)
            }
            Err(failure) if failure.status == status::NOT_READY => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    /// Waits for the event, which then ends.
    pub fn wait(self, driver: &Driver) -> Result<(), DriverFailure> {
        let _guard = self.enter(driver)?;
        // SAFETY: as for `end_if_complete`.
        unsafe { driver.event_synchronize(self.handle()) }?;
        self.end(driver);
        Ok(())
    }

    /// For when `wait` fails.
    pub fn wait_for_context(&self, driver: &Driver) -> Result<(), DriverFailure> {
        let _guard = self.enter(driver)?;
        driver.synchronize_context()
    }

    pub fn destroy(self, driver: &Driver) {
        if let Ok(_guard) = self.enter(driver) {
            self.end(driver);
        }
    }

    /// The event's context is current.
    fn end(self, driver: &Driver) {
        // SAFETY: as for `end_if_complete`, and the event is not used again.
        let _ = unsafe { driver.event_destroy(self.handle()) };
    }

    /// If so, the event detects a reset of its context.
    pub fn knows_context_id(&self) -> bool {
        self.context_id != 0
    }

    pub fn context(&self) -> Context {
        self.context
    }

    /// An error: the context is gone, and the event with it.
    fn enter<'d>(&self, driver: &'d Driver) -> Result<ContextGuard<'d>, DriverFailure> {
        let guard = ContextGuard::enter(driver, self.context)?;
        if guard.context_id()? != self.context_id {
            // A reset, after which the context was created again.
            return Err(DriverFailure { call: "cuCtxGetId", status: status::CONTEXT_IS_DESTROYED });
        }
        Ok(guard)
    }

    fn handle(&self) -> CUevent {
        std::ptr::with_exposed_provenance_mut(self.handle)
    }
}
