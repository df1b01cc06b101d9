//! Copies on a caller's stream, in flight until the event recorded after them is complete. Only [`start`] uses the stream,
//! which may be destroyed afterwards.
#![expect(unsafe_code, reason = "the driver's functions are called")]

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use syncedmem_core::head::Side;
use syncedmem_trace::event::Path;

use super::Endpoints;
use crate::cuda::capture::{self, RelaxedCapture};
use crate::cuda::context::{self, ContextGuard};
use crate::cuda::driver::{self, Driver, Stream};
use crate::cuda::events::Event;
use crate::cuda::{driver_in_use, ends_all_work, status, synchronize};
use crate::error::{DriverFailure, Error};
use crate::memory::blocks;
use crate::memory::device;
use crate::memory::driver::source::Identity;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFlight {
    /// The side that is written.
    pub to: Side,
    event: Event,
    /// The device block's address and identity: while the block exists, its context and the event exist.
    block: u64,
    identity: Identity,
    /// `path` and `number` are for the recorder.
    pub path: Path,
    pub number: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    InFlight(InFlight),
    /// The driver gave no event, so the thread waited for the copy.
    Done(Path),
}

/// `bytes` is not 0, and `stream` is not captured.
///
/// # Safety
/// Both blocks have `bytes` bytes until the copy is complete.
pub unsafe fn start(driver: &Driver, endpoints: Endpoints, bytes: usize, stream: Stream<'_>) -> Result<Started, Error> {
    let block = driver::address(endpoints.device.as_ptr());
    let (otherwise, identity) = {
        let (guard, record) = device::enter(driver, endpoints.device, endpoints.owner)?;
        if record.is_some_and(|record| record.pending_on_legacy) {
            // A caller's stream may be non-blocking, and then does not wait for the legacy one.
            synchronize::legacy_stream(driver)?;
            blocks::set_pending_on_legacy(endpoints.device, false);
        }
        let identity = record.map_or_else(|| Identity::of(driver, &guard, block), |record| record.identity);
        (guard.context, identity)
    };
    let guard = ContextGuard::of_stream(driver, stream, otherwise)?;
    let event = Event::new(driver, &guard)?;
    let (to, from) = endpoints.addresses();
    // SAFETY: the caller of `start` guarantees the blocks until the copy is complete.
    unsafe { driver.copy_async(to, from, bytes, stream.handle()) }.inspect_err(|_| event.destroy(driver))?;
    let recorded = event.record(driver, stream).inspect_err(|_| event.destroy(driver));
    let Ok(event) = recorded.and_then(|()| event.into_context(driver, otherwise)) else {
        driver.synchronize_stream(stream).or_else(|_| driver.synchronize_context())?;
        return Ok(Started::Done(endpoints.path(driver)));
    };
    let number = COPIES.fetch_add(1, Relaxed) + 1;
    Ok(Started::InFlight(InFlight { to: endpoints.to, event, block, identity, path: endpoints.path(driver), number }))
}

/// Makes later work of `stream` wait for the present work of the legacy default stream in the context of the block at
/// `address`, which the object at `owner` owns.
pub fn follow_default_stream(
    driver: &Driver,
    address: NonNull<c_void>,
    owner: Option<usize>,
    stream: Stream<'_>,
) -> Result<(), Error> {
    if stream.is_legacy() {
        return Ok(());
    }
    let (guard, _) = device::enter(driver, address, owner)?;
    capture::refuse_captured_within(driver, &guard, stream)?;
    capture::spare_legacy_stream(driver)?;
    let event = Event::new(driver, &guard)?;
    let ordered = event.record(driver, Stream::LEGACY).and_then(|()| event.make_wait(driver, stream));
    // A queued wait stays valid after the event is destroyed.
    event.destroy(driver);
    Ok(ordered?)
}

/// Number of the last copy. Relaxed: it orders nothing.
static COPIES: AtomicU64 = AtomicU64::new(0);

#[derive(Clone, Copy, Debug)]
pub enum CopyError {
    /// No part of the copy runs any more.
    Failed(Error),
    /// The copy may still be in flight.
    Unknown(Error),
}

impl InFlight {
    pub fn is_done(&self, driver: &Driver) -> Result<bool, CopyError> {
        self.check_exists(driver)?;
        let _relaxed = RelaxedCapture::begin(driver);
        self.event.end_if_complete(driver).map_err(|failure| self.error_of(driver, failure))
    }

    pub fn finish(&self, driver: &Driver) -> Result<(), CopyError> {
        self.check_exists(driver)?;
        let _relaxed = RelaxedCapture::begin(driver);
        self.event.wait(driver).map_err(|failure| self.error_of(driver, failure))
    }

    /// Serves destructors, which cannot keep an object because of a failure. `false`: the copy may still be in flight.
    pub fn finish_or_abandon(&self, driver: &Driver) -> bool {
        let Err(CopyError::Unknown(_)) = self.finish(driver) else { return true };
        let waited = self.event.wait_for_context(driver);
        self.event.destroy(driver);
        waited.map_or_else(ends_all_work, |()| true)
    }

    /// Ends the copy of an object that no longer exists.
    pub fn abandon(&self) {
        if let Some(driver) = driver_in_use() {
            if self.check_exists(driver).is_ok() {
                self.event.destroy(driver);
            }
        }
    }

    /// Fails if a reset has destroyed block and event. An event whose context is current detects that itself.
    fn check_exists(&self, driver: &Driver) -> Result<(), CopyError> {
        if self.event.knows_context_id()
            && context::current(driver).is_ok_and(|now| now.is_some_and(|now| now.context == self.event.context()))
        {
            return Ok(());
        }
        let is_there = self.identity.is_there(driver, self.block).map_err(|failure| self.error_of(driver, failure))?;
        if is_there { Ok(()) } else { Err(CopyError::Failed(Error::DeviceReset)) }
    }

    fn error_of(&self, driver: &Driver, failure: DriverFailure) -> CopyError {
        if !ends_all_work(failure) {
            return CopyError::Unknown(failure.into());
        }
        if failure.status == status::CONTEXT_IS_DESTROYED {
            return CopyError::Failed(Error::DeviceReset);
        }
        // After a sticky error the event still exists; with a destroyed context it does not.
        if let Error::Pending(_) = Error::from(failure) {
            self.event.destroy(driver);
        }
        CopyError::Failed(failure.into())
    }
}
