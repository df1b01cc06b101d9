//! Waits for the current context or its legacy default stream, without invalidating a capture.

use syncedmem_trace::event::What;

use super::capture::{self, RelaxedCapture};
use super::driver::{Driver, Stream};
use crate::error::DriverFailure;
use crate::observe::recorder::{self, NOTHING};

/// Never enter another context to call this: a collective operation there may be waiting for work that this thread is
/// about to start.
pub fn context(driver: &Driver) -> Result<(), DriverFailure> {
    capture::spare_context(driver)?;
    let _relaxed = RelaxedCapture::begin(driver);
    let span = recorder::begin(c"synchronise context", 0);
    driver.synchronize_context()?;
    span.end(NOTHING, || What::Synchronised);
    Ok(())
}

pub fn legacy_stream(driver: &Driver) -> Result<(), DriverFailure> {
    capture::spare_legacy_stream(driver)?;
    let _relaxed = RelaxedCapture::begin(driver);
    driver.synchronize_stream(Stream::LEGACY)
}
