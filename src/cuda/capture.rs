//! CUDA graphs that the program captures while the library works.
//!
//! A call that a capture forbids fails and invalidates the capture. So the library queries a caller's stream first, and
//! runs its own allocations, frees and waits in the relaxed mode. No mode allows
//!
//! - use of the legacy stream while a blocking stream of its context is captured: `cuStreamIsCapturing` reports it;
//! - a wait for a context while one of its streams is captured. No call reports this for a non-blocking stream that the
//!   library was never given, so once the library has seen a capture, it no longer waits for contexts.

use std::cell::Cell;
use std::ffi::c_int;

use cudarc::driver::sys::{CUstreamCaptureMode_enum as Mode, CUstreamCaptureStatus_enum as Status};

use super::context::{self, ContextGuard};
use super::driver::{Driver, Stream};
use super::{process, status};
use crate::error::{DriverFailure, Error};

/// Puts the calling thread in the relaxed capture mode, which allows "potentially unsafe" calls, while it lives.
pub struct RelaxedCapture<'d> {
    driver: &'d Driver,
    /// The previous mode; `None` if it could not be changed.
    before: Option<c_int>,
}

thread_local! {
    /// A mode of this thread that could not be restored. The next guard restores it.
    static OWED: Cell<Option<c_int>> = const { Cell::new(None) };
}

impl<'d> RelaxedCapture<'d> {
    pub fn begin(driver: &'d Driver) -> Self {
        const RELAXED: c_int = Mode::CU_STREAM_CAPTURE_MODE_RELAXED as c_int;
        let found = driver.exchange_capture_mode(RELAXED);
        let before = found.map(|mode| OWED.take().filter(|_| mode == RELAXED).unwrap_or(mode));
        RelaxedCapture { driver, before }
    }
}

impl Drop for RelaxedCapture<'_> {
    fn drop(&mut self) {
        let restored = |before| self.driver.exchange_capture_mode(before).is_some();
        OWED.set(self.before.filter(|&before| !restored(before) && !restored(before)).or(OWED.get()));
    }
}

/// Refuses a captured stream, and the legacy stream while a capture forbids it. Returns `false` if no context is current:
/// the driver may then not answer, and [`refuse_captured_within`] asks once there is one.
pub fn refuse_captured(driver: &Driver, stream: Stream<'_>) -> Result<bool, Error> {
    match context::current(driver)? {
        Some(_) => refuse_captured_now(driver, stream).map(|()| true),
        None => Ok(false),
    }
}

/// Does the work of [`refuse_captured`] in the context of `guard`, if none was current before.
pub fn refuse_captured_within(driver: &Driver, guard: &ContextGuard<'_>, stream: Stream<'_>) -> Result<(), Error> {
    if guard.before.is_none() { refuse_captured_now(driver, stream) } else { Ok(()) }
}

fn refuse_captured_now(driver: &Driver, stream: Stream<'_>) -> Result<(), Error> {
    let refused = |what| {
        process::note_capture();
        Err(Error::InvalidArgument { what })
    };
    match driver.stream_capture_status(stream) {
        Ok(captured) if captured == Status::CU_STREAM_CAPTURE_STATUS_NONE as c_int => Ok(()),
        Ok(_) => refused(
            "the stream is being captured into a CUDA graph, which could not tell when a copy or a wait of this library is done; \
             end the capture first, or pass a stream that is not captured",
        ),
        Err(failure) if failure.status == status::STREAM_CAPTURE_IMPLICIT => refused(
            "the stream is the legacy default stream, and a stream that it waits for is being captured into a CUDA graph; end the \
             capture first, or pass a stream that is not captured",
        ),
        // The call that uses the stream reports other faults.
        Err(_) => Ok(()),
    }
}

/// Fails if a capture forbids the current context's legacy stream, whose use would invalidate that capture.
pub fn spare_legacy_stream(driver: &Driver) -> Result<(), DriverFailure> {
    match driver.stream_capture_status(Stream::LEGACY) {
        Err(failure) if failure.status == status::STREAM_CAPTURE_IMPLICIT => Err(failure),
        // The call that uses the stream reports other faults.
        _ => Ok(()),
    }
}

/// Fails if a wait for the current context might invalidate a capture.
pub fn spare_context(driver: &Driver) -> Result<(), DriverFailure> {
    if process::captures_graphs() {
        return Err(DriverFailure { call: "cuCtxSynchronize", status: status::STREAM_CAPTURE_UNSUPPORTED });
    }
    spare_legacy_stream(driver)
}
