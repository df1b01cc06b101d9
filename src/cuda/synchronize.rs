//! Waits for the current context or its legacy default stream, beside captures.
#![expect(unsafe_code, reason = "the driver's functions are called")]

use super::capture::{self, Unhindered};
use super::driver::Driver;
use super::status;
use crate::error::DriverFailure;
use crate::observe::event::What;
use crate::observe::recorder::{self, NOTHING};

/// Waits for everything in the current context, and for no other: what runs on another device may be waiting for what this
/// thread is about to start, as a collective operation does.
pub fn context(driver: &Driver) -> Result<(), DriverFailure> {
    capture::spare_context(driver)?;
    let _unhindered = Unhindered::begin(driver);
    let span = recorder::begin(c"synchronise context", 0);
    // SAFETY: it asks for nothing.
    unsafe { driver.context_synchronize() }?;
    span.end(NOTHING, || What::Synchronised);
    Ok(())
}

/// Waits for everything in the current context. Where that might disturb a capture, it waits for the legacy default stream, and so for
/// every blocking stream, unless one of these is captured itself.
pub fn context_if_allowed(driver: &Driver) -> Result<(), DriverFailure> {
    match context(driver) {
        Err(failure) if status::is_of_capture(failure.status) => match legacy_stream(driver) {
            Err(failure) if status::is_of_capture(failure.status) => Ok(()),
            answer => answer,
        },
        answer => answer,
    }
}

/// Waits until the legacy default stream of the current context has come past everything it was given.
pub fn legacy_stream(driver: &Driver) -> Result<(), DriverFailure> {
    capture::spare_legacy_stream(driver)?;
    let _unhindered = Unhindered::begin(driver);
    // SAFETY: null is the legacy default stream.
    unsafe { driver.stream_synchronize(std::ptr::null_mut()) }
}
