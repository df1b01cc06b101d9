//! CUDA graphs that the program captures while the library works beside it.
//!
//! A call that a capture forbids fails, and invalidates the capture. So a stream that a caller passes is asked first whether it
//! is captured. What the library allocates, frees and waits for by itself belongs to no graph: it is done in the relaxed mode,
//! which allows that to the calling thread. No mode allows two things. The first is to use the legacy stream while a blocking stream of
//! its context is captured; `cuStreamIsCapturing` of the legacy stream reports that. The second is to wait for a context of which any
//! stream is captured; no driver call reports the capture of a non-blocking stream that this library was never given. So the
//! library waits for contexts until it has seen a capture, and never after that.
#![expect(unsafe_code, reason = "a stream of the caller's is asked about")]

use std::ffi::c_int;

use cudarc::driver::sys::{CUstream, CUstreamCaptureMode_enum as Mode, CUstreamCaptureStatus_enum as Status};

use super::context::{self, Within};
use super::driver::Driver;
use super::{process, status};
use crate::error::{DriverFailure, Error};

/// The calling thread may do what is potentially unsafe beside a capture, until this is dropped.
pub struct Unhindered<'d> {
    driver: &'d Driver,
    /// The mode that it had; `None` if it could not be changed.
    before: Option<c_int>,
}

impl<'d> Unhindered<'d> {
    /// Begins that. A driver that knows no captures, or that fails here, leaves the thread as it is.
    pub fn begin(driver: &'d Driver) -> Self {
        Unhindered { driver, before: driver.exchange_capture_mode(Mode::CU_STREAM_CAPTURE_MODE_RELAXED as c_int) }
    }
}

impl Drop for Unhindered<'_> {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            self.driver.exchange_capture_mode(before);
        }
    }
}

/// Refuses a caller's stream that is captured, and the legacy stream beside a capture, before anything is done. Where no
/// context is current, the driver need not tell: then [`refuse_captured_within`] is asked, when one is.
///
/// # Safety
/// As for [`refuse_captured_within`].
pub unsafe fn refuse_captured(driver: &Driver, stream: CUstream) -> Result<(), Error> {
    match context::current(driver)? {
        // SAFETY: the caller guarantees it.
        Some(_) => unsafe { refuse_captured_now(driver, stream) },
        None => Ok(()),
    }
}

/// As [`refuse_captured`], where that could not tell: in the context that `within` made current.
///
/// # Safety
/// `stream` is NULL, one of CUDA's two special handles, or a stream.
pub unsafe fn refuse_captured_within(driver: &Driver, within: &Within<'_>, stream: CUstream) -> Result<(), Error> {
    match within.before {
        // SAFETY: the caller guarantees it.
        None => unsafe { refuse_captured_now(driver, stream) },
        Some(_) => Ok(()),
    }
}

/// # Safety
/// As for [`refuse_captured_within`].
unsafe fn refuse_captured_now(driver: &Driver, stream: CUstream) -> Result<(), Error> {
    let refused = |what| {
        process::note_capture();
        Err(Error::InvalidArgument { what })
    };
    // SAFETY: the caller guarantees it.
    match unsafe { driver.stream_capture_status(stream) } {
        Ok(captured) if captured == Status::CU_STREAM_CAPTURE_STATUS_NONE as c_int => Ok(()),
        Ok(_) => refused(
            "the stream is being captured into a CUDA graph, which could not tell when a copy or a wait of this library is done; \
             end the capture first, or pass a stream that is not captured",
        ),
        Err(failure) if failure.status == status::STREAM_CAPTURE_IMPLICIT => refused(
            "the stream is the legacy default stream, and a stream that it waits for is being captured into a CUDA graph; end the \
             capture first, or pass a stream that is not captured",
        ),
        // The call that the stream was passed for says what else is wrong.
        Err(_) => Ok(()),
    }
}

/// An error if the legacy stream of the current context cannot be used because of a capture, which then stays as it is.
pub fn spare_legacy_stream(driver: &Driver) -> Result<(), DriverFailure> {
    // SAFETY: null is the legacy stream.
    match unsafe { driver.stream_capture_status(std::ptr::null_mut()) } {
        Err(failure) if failure.status == status::STREAM_CAPTURE_IMPLICIT => Err(failure),
        // What else is wrong the call itself says.
        _ => Ok(()),
    }
}

/// An error if waiting for the current context might disturb a capture, which then stays as it is.
pub fn spare_context(driver: &Driver) -> Result<(), DriverFailure> {
    if process::captures_graphs() {
        return Err(DriverFailure { call: "cuCtxSynchronize", status: status::STREAM_CAPTURE_UNSUPPORTED });
    }
    spare_legacy_stream(driver)
}
