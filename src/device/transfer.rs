//! Copies on a caller's stream, known to be in flight until an event right behind them has come to pass.
//!
//! The caller's handle is used in [`start`] and never again: the stream may be gone afterwards.
#![expect(unsafe_code, reason = "the driver's functions are called")]

use std::ffi::c_void;

use cudarc::driver::sys::CUstream;

use super::Ends;
use crate::cuda::context::Within;
use crate::cuda::driver::Driver;
use crate::cuda::ends_all_work;
use crate::cuda::events::Event;
use crate::error::{DriverFailure, Error};
use crate::head::Side;

/// A copy that may not be done yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFlight {
    /// The side that is written: the device by a push, the host by a pull.
    pub to: Side,
    event: Event,
}

/// What became of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    /// It is on its way.
    InFlight(InFlight),
    /// It is done: the driver gave no event, so it was waited for.
    Done,
}

/// Starts to copy `bytes`, which are not 0, on `stream`.
///
/// # Safety
/// Both ends are good for that many bytes until the copy is done; `stream` is NULL or a stream.
pub unsafe fn start(driver: &Driver, ends: Ends, bytes: usize, stream: *mut c_void) -> Result<Started, Error> {
    let stream: CUstream = stream.cast();
    let otherwise = ends.enter(driver)?.context;
    // SAFETY: the caller guarantees it.
    let within = unsafe { Within::of_stream(driver, stream, otherwise) }?;
    let event = Event::new(driver, &within)?;
    let (to, from) = ends.addresses();
    // SAFETY: the caller guarantees it.
    if let Err(failure) = unsafe { driver.copy_async(to, from, bytes, stream) } {
        event.keep(driver);
        return Err(failure.into());
    }
    // SAFETY: the caller guarantees it.
    if unsafe { event.record(driver, stream) }.is_err() {
        event.end(driver);
        // SAFETY: the caller guarantees it.
        if unsafe { driver.stream_synchronize(stream) }.is_err() {
            // SAFETY: it asks for nothing.
            unsafe { driver.context_synchronize() }?;
        }
        return Ok(Started::Done);
    }
    Ok(Started::InFlight(InFlight { to: ends.to, event }))
}

/// How a wait ended that did not end well.
#[derive(Clone, Copy, Debug)]
pub enum Trouble {
    /// The copy never came to its end, and nothing of it runs any more.
    Failed(Error),
    /// It may still be on its way.
    Unknown(Error),
}

impl InFlight {
    /// Whether it is done, without waiting.
    pub fn is_done(&self, driver: &Driver) -> Result<bool, Trouble> {
        match self.event.has_come(driver) {
            Ok(done) => {
                if done {
                    self.event.keep(driver);
                }
                Ok(done)
            }
            Err(failure) => Err(self.trouble(driver, failure)),
        }
    }

    /// Waits until it is done.
    pub fn finish(&self, driver: &Driver) -> Result<(), Trouble> {
        match self.event.wait(driver) {
            Ok(()) => {
                self.event.keep(driver);
                Ok(())
            }
            Err(failure) => Err(self.trouble(driver, failure)),
        }
    }

    /// Waits for it by every means: for destructors, which cannot keep an object because of a failure.
    pub fn finish_at_last(&self, driver: &Driver) {
        match self.event.wait(driver) {
            Ok(()) => self.event.keep(driver),
            Err(_) => {
                // If that fails too, there is nothing left that could run.
                let _ = self.event.wait_for_context(driver);
                self.event.end(driver);
            }
        }
    }

    /// Forgets it: its object is no more.
    pub fn abandon(&self) {
        self.event.abandon();
    }

    fn trouble(&self, driver: &Driver, failure: DriverFailure) -> Trouble {
        if !ends_all_work(failure) {
            return Trouble::Unknown(failure.into());
        }
        self.event.end(driver);
        Trouble::Failed(failure.into())
    }
}
