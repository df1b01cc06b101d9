//! Events that tell when a copy on a caller's stream is done. They are kept for the next copy of their context.
#![expect(unsafe_code, reason = "the driver's functions are called")]

use std::ffi::c_uint;

use cudarc::driver::sys::{CUevent, CUevent_flags, CUstream, CUstream_flags};

use super::capture::Unhindered;
use super::context::{Context, Within};
use super::driver::Driver;
use super::status;
use crate::error::DriverFailure;
use crate::platform::sync::{Lock, locked_static};

/// An event, by the driver's handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    handle: usize,
    context: Context,
    /// Which life of the context it belongs to: a reset ends one, and every event of it. 0 if the driver cannot say.
    life: u64,
}

/// No more than these lie idle.
const KEPT: usize = 64;

locked_static! { static IDLE: Lock<Vec<Event>> = Lock::new(Vec::new()); }

impl Event {
    /// An event of the context that `within` made current.
    pub fn new(driver: &Driver, within: &Within<'_>) -> Result<Event, DriverFailure> {
        Self::of_life(driver, within, None)
    }

    /// The same, of the life of the context that the caller knows it to be in.
    pub fn of_life(driver: &Driver, within: &Within<'_>, life: Option<u64>) -> Result<Event, DriverFailure> {
        let life = life.map_or_else(|| within.life(), Ok)?;
        let wanted = |event: &Event| event.context == within.context && event.life == life;
        let kept = IDLE.with(|idle| idle.iter().position(wanted).map(|at| idle.swap_remove(at)));
        if let Some(event) = kept {
            return Ok(event);
        }
        let mut handle: CUevent = std::ptr::null_mut();
        // SAFETY: `handle` is writable.
        unsafe { driver.event_create(&mut handle, CUevent_flags::CU_EVENT_DISABLE_TIMING as c_uint) }?;
        Ok(Event { handle: handle.expose_provenance(), context: within.context, life })
    }

    /// Records it behind the work that `stream`, of the same context, has now.
    ///
    /// # Safety
    /// `stream` is a stream.
    pub unsafe fn record(&self, driver: &Driver, stream: CUstream) -> Result<(), DriverFailure> {
        // SAFETY: the event lives: its context is current. The stream is, says the caller.
        unsafe { driver.event_record(self.handle(), stream) }
    }

    /// Makes what `stream`, of any context, is given from now on wait for it.
    ///
    /// # Safety
    /// `stream` is a stream.
    pub unsafe fn precede(&self, driver: &Driver, stream: CUstream) -> Result<(), DriverFailure> {
        // SAFETY: as for `record`.
        unsafe { driver.stream_wait_event(stream, self.handle(), 0) }
    }

    /// An event of the context `home`, which is there, that comes to pass when this one does, which is not used any more.
    ///
    /// Nothing says whether a context is still there that another program part made: the driver does not refuse its handle,
    /// it follows it. Of `home` the block tells that the event is about.
    pub fn carry(self, driver: &Driver, home: Context) -> Result<Event, DriverFailure> {
        if self.context == home {
            return Ok(self);
        }
        let carried = self.carried(driver, home);
        // The driver keeps what it needs of it.
        self.end(driver);
        carried
    }

    fn carried(&self, driver: &Driver, home: Context) -> Result<Event, DriverFailure> {
        let within = Within::enter(driver, home)?;
        let _unhindered = Unhindered::begin(driver);
        let event = Event::new(driver, &within)?;
        let mut stream = std::ptr::null_mut();
        // SAFETY: `stream` is writable.
        let made = unsafe { driver.stream_create(&mut stream, CUstream_flags::CU_STREAM_NON_BLOCKING as c_uint) };
        let recorded = made.and_then(|()| {
            // SAFETY: it was made just now.
            let recorded = unsafe { self.precede(driver, stream) }
                // SAFETY: as above.
                .and_then(|()| unsafe { event.record(driver, stream) });
            // What it has comes to its end all the same.
            // SAFETY: it is not used again.
            let _ = unsafe { driver.stream_destroy(stream) };
            recorded
        });
        recorded.map(|()| event).inspect_err(|_| event.end(driver))
    }

    /// Whether it has come to pass.
    pub fn has_come(&self, driver: &Driver) -> Result<bool, DriverFailure> {
        let _within = self.enter(driver)?;
        // SAFETY: the event lives: its context does, and is in the same life.
        match unsafe { driver.event_query(self.handle()) } {
            Ok(()) => Ok(true),
            Err(failure) if failure.status == status::NOT_READY => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    /// Waits until it has come to pass.
    pub fn wait(&self, driver: &Driver) -> Result<(), DriverFailure> {
        let _within = self.enter(driver)?;
        // SAFETY: as for `has_come`.
        unsafe { driver.event_synchronize(self.handle()) }
    }

    /// Waits for everything in its context: what is left to do when `wait` fails.
    pub fn wait_for_context(&self, driver: &Driver) -> Result<(), DriverFailure> {
        let _within = self.enter(driver)?;
        // SAFETY: it asks for nothing.
        unsafe { driver.context_synchronize() }
    }

    /// Keeps it for another copy, after it has come to pass.
    pub fn keep(self, driver: &Driver) {
        let kept = self.life != 0
            && IDLE.with(|idle| {
                let room = idle.len() < KEPT && idle.try_reserve(1).is_ok();
                if room {
                    idle.push(self);
                }
                room
            });
        if !kept {
            self.end(driver);
        }
    }

    /// Ends it, whether or not it has come to pass.
    pub fn end(self, driver: &Driver) {
        if let Ok(_within) = self.enter(driver) {
            // SAFETY: as for `has_come`, and it is not used again.
            let _ = unsafe { driver.event_destroy(self.handle()) };
        }
    }

    /// Whether it finds out by itself that its context was reset, where that context is current.
    pub fn knows_its_life(&self) -> bool {
        self.life != 0
    }

    /// Its context.
    pub fn context(&self) -> Context {
        self.context
    }

    /// Makes its context current. An error says that it is gone, and the event with it.
    fn enter<'d>(&self, driver: &'d Driver) -> Result<Within<'d>, DriverFailure> {
        let within = Within::enter(driver, self.context)?;
        if within.life()? != self.life {
            // A reset ended the context, and began it anew.
            return Err(DriverFailure { call: "cuCtxGetId", status: status::CONTEXT_IS_DESTROYED });
        }
        Ok(within)
    }

    fn handle(&self) -> CUevent {
        std::ptr::with_exposed_provenance_mut(self.handle)
    }
}
