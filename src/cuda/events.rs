//! Events recorded after work of a stream.
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
    /// The context's id; 0 if the driver has none. A reset destroys a context with its events, and changes its id.
    context_id: u64,
}

impl Event {
    pub fn new(driver: &Driver, guard: &ContextGuard<'_>) -> Result<Event, DriverFailure> {
        let context_id = guard.context_id()?;
        const FLAGS: c_uint = CUevent_flags::CU_EVENT_DISABLE_TIMING as c_uint;
        // SAFETY: `guard` keeps the context current that the event is made in.
        let handle: CUevent = output(std::ptr::null_mut(), |handle| unsafe { driver.event_create(handle, FLAGS) })?;
        Ok(Event { handle: handle.expose_provenance(), context: guard.context, context_id })
    }

    /// `stream` belongs to the event's context, which is current.
    pub fn record(&self, driver: &Driver, stream: Stream<'_>) -> Result<(), DriverFailure> {
        // SAFETY: the event exists, because its context is current.
        unsafe { driver.event_record(self.handle(), stream.handle()) }
    }

    /// Makes later work of `stream`, of any context, wait for the event.
    pub fn make_wait(&self, driver: &Driver, stream: Stream<'_>) -> Result<(), DriverFailure> {
        // SAFETY: the event exists: each caller has just recorded it.
        unsafe { driver.stream_wait_event(stream.handle(), self.handle(), 0) }
    }

    /// Replaces the event by one of `home`, the block's context, that completes at the same time: the program may destroy
    /// another context, and the driver would follow the dead handle.
    pub fn into_context(self, driver: &Driver, home: Context) -> Result<Event, DriverFailure> {
        if self.context == home {
            return Ok(self);
        }
        let copied = self.copied(driver, home);
        // A queued wait stays valid after the event is destroyed.
        self.destroy(driver);
        copied
    }

    fn copied(&self, driver: &Driver, home: Context) -> Result<Event, DriverFailure> {
        let guard = ContextGuard::enter(driver, home)?;
        let _relaxed = RelaxedCapture::begin(driver);
        let event = Event::new(driver, &guard)?;
        let recorded = driver.new_stream().and_then(|stream| {
            let recorded = self.make_wait(driver, stream).and_then(|()| event.record(driver, stream));
            // SAFETY: the stream is not used again. Its queued work still completes.
            let _ = unsafe { driver.stream_destroy(stream.handle()) };
            recorded
        });
        recorded.map(|()| event).inspect_err(|_| event.destroy(driver))
    }

    /// Whether the event is complete. A complete event is destroyed.
    pub fn end_if_complete(self, driver: &Driver) -> Result<bool, DriverFailure> {
        let _guard = self.enter(driver)?;
        // SAFETY: the event exists: `enter` has found its context, with the same id.
        match unsafe { driver.event_query(self.handle()) } {
            Ok(()) => {
                self.end(driver);
                Ok(true)
            }
            Err(failure) if failure.status == status::NOT_READY => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    /// Waits for the event and destroys it, unless the wait fails.
    pub fn wait(self, driver: &Driver) -> Result<(), DriverFailure> {
        let _guard = self.enter(driver)?;
        // SAFETY: the event exists: `enter` has found its context, with the same id.
        unsafe { driver.event_synchronize(self.handle()) }?;
        self.end(driver);
        Ok(())
    }

    /// Waits for all work of the event's context, for a caller whose `wait` has failed.
    pub fn wait_for_context(&self, driver: &Driver) -> Result<(), DriverFailure> {
        let _guard = self.enter(driver)?;
        driver.synchronize_context()
    }

    pub fn destroy(self, driver: &Driver) {
        if let Ok(_guard) = self.enter(driver) {
            self.end(driver);
        }
    }

    /// Destroys the event, whose context is current.
    fn end(self, driver: &Driver) {
        // SAFETY: the caller has entered the event's context, and does not use the event again.
        let _ = unsafe { driver.event_destroy(self.handle()) };
    }

    /// Whether the event detects a reset of its context.
    pub fn knows_context_id(&self) -> bool {
        self.context_id != 0
    }

    pub fn context(&self) -> Context {
        self.context
    }

    /// Makes the event's context current. Fails if the context is gone, and the event with it.
    fn enter<'d>(&self, driver: &'d Driver) -> Result<ContextGuard<'d>, DriverFailure> {
        let guard = ContextGuard::enter(driver, self.context)?;
        if guard.context_id()? != self.context_id {
            // The device was reset, and the context was created again.
            return Err(DriverFailure { call: "cuCtxGetId", status: status::CONTEXT_IS_DESTROYED });
        }
        Ok(guard)
    }

    fn handle(&self) -> CUevent {
        std::ptr::with_exposed_provenance_mut(self.handle)
    }
}
