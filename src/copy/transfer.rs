//! Copies on a caller's stream, known to be in flight until an event right behind them has come to pass.
//!
//! The caller's handle is used in [`start`] and never again: the stream may be gone afterwards.
#![expect(unsafe_code, reason = "the driver's functions are called")]

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use cudarc::driver::sys::CUstream;

use super::Ends;
use crate::cuda::capture::{self, Unhindered};
use crate::cuda::context::{self, Within};
use crate::cuda::driver::{self, Driver};
use crate::cuda::events::Event;
use crate::cuda::{driver_in_use, ends_all_work, is_reset, synchronize};
use crate::error::{DriverFailure, Error};
use crate::memory::device;
use crate::memory::driver::blocks;
use crate::memory::driver::source::Identity;
use crate::observe::event::Path;
use crate::state::head::Side;

/// A copy that may not be done yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFlight {
    /// The side that is written: the device by a push, the host by a pull.
    pub to: Side,
    event: Event,
    /// The device block, and what the driver knows it by: while it is there, so are its context and the event.
    block: u64,
    identity: Identity,
    /// The way that it takes, and a number of its own.
    pub path: Path,
    pub number: u64,
}

/// What became of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    /// It is on its way.
    InFlight(InFlight),
    /// It is done: the driver gave no event, so it was waited for. It took that way.
    Done(Path),
}

/// Starts to copy `bytes`, which are not 0, on `stream`.
///
/// # Safety
/// Both ends are good for that many bytes until the copy is done; `stream` is NULL or a stream.
pub unsafe fn start(driver: &Driver, ends: Ends, bytes: usize, stream: *mut c_void) -> Result<Started, Error> {
    let stream: CUstream = stream.cast();
    let block = driver::address(ends.device.as_ptr());
    let (otherwise, identity) = {
        let (within, record) = device::enter(driver, ends.device, ends.owner)?;
        // SAFETY: the caller guarantees it.
        unsafe { capture::refuse_captured_within(driver, &within, stream) }?;
        if record.is_some_and(|record| record.unsettled) {
            // A caller's stream need not wait for the legacy one, where this library's own fills and copies are.
            synchronize::legacy_stream(driver)?;
            blocks::note_unsettled(ends.device, false);
        }
        let identity = record.map_or_else(|| Identity::of(driver, &within, block), |record| record.identity);
        (within.context, identity)
    };
    // SAFETY: the caller guarantees it.
    let within = unsafe { Within::of_stream(driver, stream, otherwise) }?;
    let event = Event::of_life(driver, &within, identity.life_of(within.context))?;
    let (to, from) = ends.addresses();
    // SAFETY: the caller guarantees it.
    if let Err(failure) = unsafe { driver.copy_async(to, from, bytes, stream) } {
        event.keep(driver);
        return Err(failure.into());
    }
    // SAFETY: the caller guarantees it.
    let recorded = unsafe { event.record(driver, stream) }.inspect_err(|_| event.end(driver));
    let Ok(event) = recorded.and_then(|()| event.carry(driver, otherwise)) else {
        // SAFETY: the caller guarantees it.
        if unsafe { driver.stream_synchronize(stream) }.is_err() {
            // SAFETY: it asks for nothing.
            unsafe { driver.context_synchronize() }?;
        }
        return Ok(Started::Done(ends.path(driver)));
    };
    // Relaxed: it is a number and nothing else.
    let number = COPIES.fetch_add(1, Relaxed) + 1;
    Ok(Started::InFlight(InFlight { to: ends.to, event, block, identity, path: ends.path(driver), number }))
}

/// Makes what `stream` is given from now on wait for what the legacy default stream has where the block at `address` is, which
/// is `owner`'s if it has one.
///
/// # Safety
/// `stream` is NULL, one of CUDA's two special handles, or a stream.
pub unsafe fn follow_default_stream(
    driver: &Driver,
    address: NonNull<c_void>,
    owner: Option<usize>,
    stream: *mut c_void,
) -> Result<(), Error> {
    // NULL and CU_STREAM_LEGACY are that stream.
    if stream.addr() <= 1 {
        return Ok(());
    }
    let (within, _) = device::enter(driver, address, owner)?;
    // SAFETY: the caller guarantees it.
    unsafe { capture::refuse_captured_within(driver, &within, stream.cast()) }?;
    capture::spare_legacy_stream(driver)?;
    let event = Event::new(driver, &within)?;
    // SAFETY: NULL is the legacy default stream.
    let recorded = unsafe { event.record(driver, std::ptr::null_mut()) };
    // SAFETY: the caller guarantees it.
    let ordered = recorded.and_then(|()| unsafe { event.precede(driver, stream.cast()) });
    // The driver keeps what it needs of it.
    event.end(driver);
    Ok(ordered?)
}

/// How many copies were started.
static COPIES: AtomicU64 = AtomicU64::new(0);

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
        self.look(driver)?;
        let _unhindered = Unhindered::begin(driver);
        let done = self.event.has_come(driver).map_err(|failure| self.trouble(driver, failure))?;
        if done {
            self.event.keep(driver);
        }
        Ok(done)
    }

    /// Waits until it is done.
    pub fn finish(&self, driver: &Driver) -> Result<(), Trouble> {
        self.look(driver)?;
        let _unhindered = Unhindered::begin(driver);
        self.event.wait(driver).map_err(|failure| self.trouble(driver, failure))?;
        self.event.keep(driver);
        Ok(())
    }

    /// Waits for it by every means: for destructors, which cannot keep an object because of a failure.
    pub fn finish_at_last(&self, driver: &Driver) {
        if let Err(Trouble::Unknown(_)) = self.finish(driver) {
            // If that fails too, there is nothing left that could run.
            let _ = self.event.wait_for_context(driver);
            self.event.end(driver);
        }
    }

    /// Forgets it: its object is no more.
    pub fn abandon(&self) {
        if let Some(driver) = driver_in_use() {
            if self.look(driver).is_ok() {
                self.event.end(driver);
            }
        }
    }

    /// Looks whether there still is what the copy is about. A reset of the device takes the event with it, and an event whose
    /// context is current finds that out by itself.
    fn look(&self, driver: &Driver) -> Result<(), Trouble> {
        if self.event.knows_its_life() && context::current(driver) == Ok(Some(self.event.context())) {
            return Ok(());
        }
        match self.identity.is_there(driver, self.block) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Trouble::Failed(Error::DeviceReset)),
            Err(failure) => Err(self.trouble(driver, failure)),
        }
    }

    fn trouble(&self, driver: &Driver, failure: DriverFailure) -> Trouble {
        if !ends_all_work(failure) {
            return Trouble::Unknown(failure.into());
        }
        if is_reset(failure) {
            return Trouble::Failed(Error::DeviceReset);
        }
        // What a kernel broke still knows its handles; a context that is gone has taken the event along.
        if let Error::Pending(_) = Error::from(failure) {
            self.event.end(driver);
        }
        Trouble::Failed(failure.into())
    }
}
