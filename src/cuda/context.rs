//! Makes a context current for a call, and restores the calling thread's own.
#![expect(unsafe_code, reason = "the driver's functions are called")]

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::Relaxed};

use cudarc::driver::sys::{CUcontext, CUctx_st};

use super::MOST_DEVICES;
use super::driver::{Driver, Stream, output};
use super::{process, runtime, status};
use crate::error::{DriverFailure, Error};
use crate::platform::text::warn_once;

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

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Current {
    pub context: Context,
    /// Unique in the process; a reset changes it. 0 if the driver has none.
    pub id: u64,
    /// `None` until [`ContextGuard::device`] queries it.
    device: Option<c_int>,
}

impl Current {
    const NONE: Current = Current { context: Context::NONE, id: 0, device: None };
}

thread_local! {
    /// What this thread last found current. Ids are never reused, so context and device of this id stay valid.
    static LAST: Cell<Current> = const { Cell::new(Current::NONE) };
    static FOUND: Cell<Found> = const { Cell::new(Found::Outside) };
    /// The call that failed to make this thread's own context current again, and whether the present operation has met
    /// this failure. Every query returns it, until the end of the next operation that makes a query.
    static LOST: Cell<Option<(DriverFailure, bool)>> = const { Cell::new(None) };
}

#[derive(Clone, Copy)]
enum Found {
    /// No operation is active, or the active one has made another context current.
    Outside,
    NotAsked,
    Asked(Option<Current>),
}

/// While it lives, the calling thread asks the driver for its current context once: only the library runs, and it restores
/// the context.
pub struct Operation {
    is_outermost: bool,
    /// Whether an earlier operation has left [`LOST`].
    was_lost: bool,
}

impl Operation {
    pub fn begin() -> Operation {
        let is_outermost = matches!(FOUND.get(), Found::Outside);
        if is_outermost {
            FOUND.set(Found::NotAsked);
            LOST.set(LOST.get().map(|(failure, _)| (failure, false)));
        }
        Operation { is_outermost, was_lost: LOST.get().is_some() }
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        if self.is_outermost {
            FOUND.set(Found::Outside);
            LOST.set(LOST.get().filter(|(_, is_met)| !(self.was_lost && *is_met)));
        }
    }
}

pub struct ContextGuard<'d> {
    driver: &'d Driver,
    pub context: Context,
    /// [`Current::id`]; also 0 if it was not queried.
    id: u64,
    /// The context that is current again afterwards.
    pub before: Option<Context>,
    is_pushed: bool,
    /// State of the enclosing operation, in which another context is current while this lives.
    found: Found,
}

impl<'d> ContextGuard<'d> {
    pub fn enter(driver: &'d Driver, context: Context) -> Result<Self, DriverFailure> {
        Self::enter_from(driver, current(driver)?, context)
    }

    pub fn enter_from(driver: &'d Driver, before: Option<Current>, context: Context) -> Result<Self, DriverFailure> {
        match before.filter(|before| before.context == context) {
            Some(Current { id, .. }) => {
                Ok(ContextGuard { driver, context, id, before: Some(context), is_pushed: false, found: FOUND.get() })
            }
            None => Self::push(driver, before.map(|before| before.context), context),
        }
    }

    fn push(driver: &'d Driver, before: Option<Context>, context: Context) -> Result<Self, DriverFailure> {
        let found = FOUND.get();
        // SAFETY: the handle comes from the driver. Callers pass a primary context, or that of a block or event that exists.
        if let Err(failure) = unsafe { driver.context_push(context.handle()) } {
            restore(driver, context, before, found);
            return Err(failure);
        }
        FOUND.set(Found::Outside);
        Ok(ContextGuard { driver, context, id: 0, before, is_pushed: true, found })
    }

    /// Enters the current context, else the primary one of [`runtime::chosen_device`].
    pub fn for_new_block(driver: &'d Driver) -> Result<Self, DriverFailure> {
        if cfg!(syncedmem_fault = "new blocks are on the first device") {
            return Self::enter_from(driver, current(driver)?, primary(driver, 0)?);
        }
        match current(driver)? {
            Some(own) => Self::enter_from(driver, Some(own), own.context),
            None => Self::enter_from(driver, None, primary(driver, runtime::chosen_device())?),
        }
    }

    /// Enters the stream's context; for a default stream the current one, else `otherwise`.
    pub fn of_stream(driver: &'d Driver, stream: Stream<'_>, otherwise: Context) -> Result<Self, DriverFailure> {
        let own = current(driver)?.map_or(otherwise, |own| own.context);
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
        let last = LAST.get();
        let is_known = self.id != 0 && last.id == self.id;
        if let Some(device) = last.device.filter(|_| is_known) {
            return Ok(device);
        }
        // SAFETY: this guard keeps a context current.
        let device = output(0, |device| unsafe { self.driver.context_device(device) })?;
        if is_known {
            LAST.set(Current { device: Some(device), ..last });
        }
        Ok(device)
    }

    pub fn context_id(&self) -> Result<u64, DriverFailure> {
        if self.id == 0 { self.driver.context_id() } else { Ok(self.id) }
    }
}

impl Drop for ContextGuard<'_> {
    fn drop(&mut self) {
        if !self.is_pushed {
            return;
        }
        let mut popped = std::ptr::null_mut();
        // SAFETY: `popped` is writable.
        let answer = unsafe { self.driver.context_pop(&mut popped) };
        if answer.is_ok() && Context::of(popped) == Some(self.context) {
            LOST.set(None);
            FOUND.set(self.found);
        } else {
            restore(self.driver, self.context, self.before, self.found);
        }
    }
}

/// Makes `before` current again after a push that failed, or a pop that failed or returned another context. If this fails
/// too, standard error gets a line, and the thread's next operation the error: the library does nothing in a context that
/// it only believes to be current.
#[cold]
fn restore(driver: &Driver, pushed: Context, before: Option<Context>, found: Found) {
    const CALL: &str =
        "cuCtxSetCurrent, called to make this thread's own context current again (call cudaSetDevice now),";
    static WARNED: AtomicBool = AtomicBool::new(false);
    // After the driver has ended, nothing is current.
    let answer = if process::usable().is_ok() { try_to_restore(driver, pushed, before) } else { Ok(()) };
    let lost = answer.err().map(|failure| DriverFailure { call: CALL, ..failure });
    LOST.set(lost.map(|failure| (failure, false)));
    FOUND.set(if lost.is_some() && matches!(found, Found::Asked(_)) { Found::NotAsked } else { found });
    lost.into_iter().for_each(|failure| warn_once(&WARNED, format_args!("{}", Error::from(failure))));
}

/// Queries first, because the driver may have pushed or popped and returned an error of earlier work.
fn try_to_restore(driver: &Driver, pushed: Context, before: Option<Context>) -> Result<(), DriverFailure> {
    let set = |context: Option<Context>| {
        // SAFETY: NULL, or a context that the driver has reported as current on this thread.
        unsafe { driver.context_set_current(context.map_or(std::ptr::null_mut(), Context::handle)) }
    };
    let now = current_handle(driver)?;
    if now == Some(pushed) && now != before {
        set(None)?;
    }
    if current_handle(driver)? == before { Ok(()) } else { set(before) }
}

/// Makes one driver call if the thread has the same context as at its last query.
pub fn current(driver: &Driver) -> Result<Option<Current>, DriverFailure> {
    if let Found::Asked(found) = FOUND.get() {
        return Ok(found);
    }
    if let Some((failure, _)) = LOST.get() {
        LOST.set(Some((failure, true)));
        return Err(failure);
    }
    let now = ask_for_current(driver)?;
    LAST.set(now.unwrap_or(Current::NONE));
    if matches!(FOUND.get(), Found::NotAsked) {
        FOUND.set(Found::Asked(now));
    }
    Ok(now)
}

fn ask_for_current(driver: &Driver) -> Result<Option<Current>, DriverFailure> {
    let last = LAST.get();
    // `cuCtxGetId` fails without a current context, so it is called only if the last query found one.
    let mut id = if last.id == 0 { None } else { driver.context_id().ok() };
    if id == Some(last.id) {
        return Ok(Some(last));
    }
    let Some(context) = current_handle(driver)? else { return Ok(None) };
    let id = *id.get_or_insert_with(|| driver.context_id().unwrap_or(0));
    Ok(Some(Current { context, id, device: None }))
}

fn current_handle(driver: &Driver) -> Result<Option<Context>, DriverFailure> {
    // SAFETY: the driver only writes the handle.
    let handle = output(std::ptr::null_mut(), |context| unsafe { driver.context_get_current(context) })?;
    Ok(Context::of(handle))
}

/// Ordinal of the device that this thread's new blocks are made on.
pub fn current_device(driver: &Driver) -> Result<c_int, DriverFailure> {
    match current(driver)? {
        Some(own) => ContextGuard::enter_from(driver, Some(own), own.context)?.device(),
        None => Ok(runtime::chosen_device()),
    }
}

/// Works in the context for a new block. If a reset has destroyed that context, retains the primary one again, which
/// recreates it as the CUDA runtime does.
pub fn for_new_block<T>(driver: &Driver, work: impl Fn(&ContextGuard<'_>) -> Result<T, Error>) -> Result<T, Error> {
    let attempt = || work(&ContextGuard::for_new_block(driver)?);
    match attempt() {
        Err(Error::Driver(failure)) if status::can_be_recreated(failure.status) => {
            PRIMARY.iter().for_each(|kept| kept.store(std::ptr::null_mut(), Relaxed));
            let ordinal = current_device(driver).unwrap_or_else(|_| runtime::chosen_device());
            // A dead context of the same handle may be current: the driver revives it only for the push.
            let before = current(driver)?.map(|dead| dead.context);
            work(&ContextGuard::push(driver, before, primary(driver, ordinal)?)?)
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
        // Relaxed: two threads that both retain it get the same handle.
        kept.store(context, Relaxed);
    }
    Ok(Context::of(context).unwrap_or(Context::NONE))
}

/// Number of requests for a block while another device than the block's was current.
static MISMATCHES: AtomicU64 = AtomicU64::new(0);

pub fn mismatches() -> u64 {
    MISMATCHES.load(Relaxed)
}

/// Returns whether it is the first mismatch.
pub fn note_mismatch() -> bool {
    MISMATCHES.fetch_add(1, Relaxed) == 0
}
