//! Makes a context current for a call, and restores the calling thread's own.
#![expect(unsafe_code, reason = "the driver's functions are called")]

use std::ffi::c_int;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};

use cudarc::driver::sys::{CUcontext, CUctx_st};

use super::MOST_DEVICES;
use super::driver::{Driver, Stream, output};
use super::{runtime, status};
use crate::error::{DriverFailure, Error};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context(usize);

impl Context {
    pub const NONE: Context = Context(0);

    pub fn of(handle: CUcontext) -> Option<Context> {
        (!handle.is_null()).then_some(Context(handle.expose_provenance()))
    }

    fn handle(self) -> CUcontext {
        std::ptr::with_exposed_provenance_mut(self.0)
    }
}

pub struct ContextGuard<'d> {
    driver: &'d Driver,
    pub context: Context,
    /// Current again afterwards.
    pub before: Option<Context>,
}

impl<'d> ContextGuard<'d> {
    pub fn enter(driver: &'d Driver, context: Context) -> Result<Self, DriverFailure> {
        Self::enter_from(driver, current(driver)?, context)
    }

    fn enter_from(driver: &'d Driver, before: Option<Context>, context: Context) -> Result<Self, DriverFailure> {
        if before != Some(context) {
            // SAFETY: the handle comes from the driver, which refuses a context that is gone.
            unsafe { driver.context_push(context.handle()) }?;
        }
        Ok(ContextGuard { driver, context, before })
    }

    /// The current context, else the primary one of [`runtime::chosen_device`].
    pub fn for_new_block(driver: &'d Driver) -> Result<Self, DriverFailure> {
        match current(driver)? {
            Some(context) => Self::enter_from(driver, Some(context), context),
            None => Self::enter_from(driver, None, primary(driver, runtime::chosen_device())?),
        }
    }

    /// The stream's context; of a default stream the current one, else `otherwise`.
    pub fn of_stream(driver: &'d Driver, stream: Stream<'_>, otherwise: Context) -> Result<Self, DriverFailure> {
        let own = current(driver)?.unwrap_or(otherwise);
        // The driver answers only while a context is current.
        let guard = Self::enter(driver, own)?;
        if stream.is_default() {
            return Ok(guard);
        }
        let context = Context::of(driver.stream_context(stream)?);
        drop(guard);
        Self::enter(driver, context.unwrap_or(own))
    }

    pub fn device(&self) -> Result<c_int, DriverFailure> {
        // SAFETY: a context is current.
        output(0, |device| unsafe { self.driver.context_device(device) })
    }

    pub fn context_id(&self) -> Result<u64, DriverFailure> {
        self.driver.context_id()
    }
}

impl Drop for ContextGuard<'_> {
    fn drop(&mut self) {
        if self.before != Some(self.context) {
            // SAFETY: the place is writable. It fails if the driver has ended; then nothing is current.
            let _ = unsafe { self.driver.context_pop(&mut std::ptr::null_mut()) };
        }
    }
}

pub fn current(driver: &Driver) -> Result<Option<Context>, DriverFailure> {
    // SAFETY: the driver only writes the handle.
    output(std::ptr::null_mut(), |context| unsafe { driver.context_get_current(context) }).map(Context::of)
}

/// The ordinal of the device for this thread's new blocks.
pub fn current_device(driver: &Driver) -> Result<c_int, DriverFailure> {
    match current(driver)? {
        Some(context) => ContextGuard { driver, context, before: Some(context) }.device(),
        None => Ok(runtime::chosen_device()),
    }
}

/// If a reset has destroyed the context for a new block, retains the primary one anew, which creates it again, as the
/// CUDA runtime does.
pub fn for_new_block<T>(driver: &Driver, work: impl Fn(&ContextGuard<'_>) -> Result<T, Error>) -> Result<T, Error> {
    let attempt = || work(&ContextGuard::for_new_block(driver)?);
    match attempt() {
        Err(Error::Driver(failure)) if status::can_be_recreated(failure.status) => {
            PRIMARY.iter().for_each(|kept| kept.store(std::ptr::null_mut(), Relaxed));
            let ordinal = current_device(driver).unwrap_or_else(|_| runtime::chosen_device());
            work(&ContextGuard::enter_from(driver, None, primary(driver, ordinal)?)?)
        }
        answer => answer,
    }
}

static PRIMARY: [AtomicPtr<CUctx_st>; MOST_DEVICES] = [const { AtomicPtr::new(std::ptr::null_mut()) }; MOST_DEVICES];

/// The context that the CUDA runtime uses, retained once and never released.
pub fn primary(driver: &Driver, ordinal: c_int) -> Result<Context, DriverFailure> {
    let kept = usize::try_from(ordinal).ok().and_then(|ordinal| PRIMARY.get(ordinal));
    if let Some(context) = kept.and_then(|kept| Context::of(kept.load(Relaxed))) {
        return Ok(context);
    }
    // SAFETY: the driver refuses an ordinal without a device.
    let device = output(0, |device| unsafe { driver.device_get(device, ordinal) })?;
    // SAFETY: the driver returned the device.
    let context = output(std::ptr::null_mut(), |context| unsafe { driver.primary_retain(context, device) })?;
    if let Some(kept) = kept {
        // Relaxed: two threads that both retain get the same number.
        kept.store(context, Relaxed);
    }
    Ok(Context::of(context).unwrap_or(Context::NONE))
}

/// Requests for a block while another device than its own was current.
static MISMATCHES: AtomicU64 = AtomicU64::new(0);

pub fn mismatches() -> u64 {
    MISMATCHES.load(Relaxed)
}

/// Returns whether it is the first.
pub fn note_mismatch() -> bool {
    MISMATCHES.fetch_add(1, Relaxed) == 0
}
