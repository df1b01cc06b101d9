//! The cuBLAS that the process has loaded, else the newest that the driver supports.
//!
//! A handle serves one call at a time; idle handles are kept for the next call in their context.
#![expect(unsafe_code, reason = "foreign functions, found by name")]
#![expect(clippy::too_many_arguments, reason = "the parameters are those of cuBLAS's functions")]

use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::capture::RelaxedCapture;
use super::context::{Context, ContextGuard};
use super::driver::{Driver, output};
use super::load;
use crate::platform::cancel_guard::CancelGuard;
use crate::platform::loaded;
use crate::platform::sync::{Lock, locked_static};

/// Sonames, the newest first, each with the major version of its CUDA.
const LIBRARIES: [(&CStr, c_int); 9] = [
    (c"libcublas.so.13", 13),
    (c"libcublas.so.12", 12),
    (c"libcublas.so.11", 11),
    (c"libcublas.so.10", 10),
    (c"libcublas.so.10.0", 10),
    (c"libcublas.so.9.2", 9),
    (c"libcublas.so.9.1", 9),
    (c"libcublas.so.9.0", 9),
    (c"libcublas.so.8.0", 8),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlasFailure {
    pub call: &'static str,
    pub status: c_int,
}

type Handle = *mut c_void;

entry_points! {
    Functions fails with BlasFailure;
    required {
        cublasCreate_v2 as create(handle: *mut Handle);
        cublasDestroy_v2 as destroy(handle: Handle);
        cublasSasum_v2 as sasum(handle: Handle, count: c_int, x: u64, step: c_int, result: *mut f32);
        cublasDasum_v2 as dasum(handle: Handle, count: c_int, x: u64, step: c_int, result: *mut f64);
        cublasSdot_v2 as sdot(
            handle: Handle, count: c_int, x: u64, step_x: c_int, y: u64, step_y: c_int, result: *mut f32
        );
        cublasDdot_v2 as ddot(
            handle: Handle, count: c_int, x: u64, step_x: c_int, y: u64, step_y: c_int, result: *mut f64
        );
        cublasSscal_v2 as sscal(handle: Handle, count: c_int, factor: *const f32, x: u64, step: c_int);
        cublasDscal_v2 as dscal(handle: Handle, count: c_int, factor: *const f64, x: u64, step: c_int);
        cublasSaxpy_v2 as saxpy(
            handle: Handle, count: c_int, factor: *const f32, x: u64, step_x: c_int, y: u64, step_y: c_int
        );
        cublasDaxpy_v2 as daxpy(
            handle: Handle, count: c_int, factor: *const f64, x: u64, step_x: c_int, y: u64, step_y: c_int
        );
    }
    optional {}
}

impl Functions {
    fn check(&self, call: &'static str, status: c_int) -> Result<(), BlasFailure> {
        if status == 0 { Ok(()) } else { Err(BlasFailure { call, status }) }
    }
}

/// The library stays loaded until the process ends.
static FOUND: OnceLock<Functions> = OnceLock::new();
/// Number of objects loaded when the search found none: a later object may bring a cuBLAS.
static MISSED_AT: AtomicU64 = AtomicU64::new(0);

fn functions() -> Option<&'static Functions> {
    if let Some(found) = FOUND.get() {
        return Some(found);
    }
    // Relaxed: a thread that reads an old number searches once more.
    if MISSED_AT.load(Relaxed) == loaded::loaded_so_far() {
        return None;
    }
    match search() {
        // The search runs first, so that no fork finds the cell half initialised.
        Some(found) => Some(FOUND.get_or_init(|| found)),
        None => {
            MISSED_AT.store(loaded::loaded_so_far(), Relaxed);
            None
        }
    }
}

fn search() -> Option<Functions> {
    let _cancel_guard = CancelGuard::begin();
    let served = LIBRARIES.iter().filter(|(_, cuda)| *cuda <= load::version() / 1000);
    let loaded = LIBRARIES.iter().map(|(name, _)| (name, libc::RTLD_NOLOAD | libc::RTLD_LAZY));
    loaded.chain(served.map(|(name, _)| (name, libc::RTLD_LAZY))).find_map(|(name, flags)| {
        // SAFETY: the name is NUL-terminated; its initialisers are cuBLAS's own.
        let library = unsafe { libc::dlopen(name.as_ptr(), flags) };
        // SAFETY: `dlopen` found it by a soname of cuBLAS.
        if library.is_null() { None } else { unsafe { Functions::resolve(load::find_in(library)) }.ok() }
    })
}

#[derive(Clone, Copy, Debug)]
struct Idle {
    handle: usize,
    context: Context,
    context_id: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    Single,
    Double,
}

const KEPT: usize = 16;

locked_static! { static IDLE: Lock<Vec<Idle>> = Lock::new(Vec::new()); }

pub struct Blas {
    functions: &'static Functions,
    idle: Idle,
}

impl Blas {
    /// `None` if no cuBLAS starts in the context of `guard`.
    pub fn begin(driver: &Driver, guard: &ContextGuard<'_>) -> Option<Blas> {
        let functions = functions()?;
        let (context, context_id) = (guard.context, guard.context_id().ok()?);
        let wanted = |idle: &Idle| idle.context == context && idle.context_id == context_id;
        let kept = IDLE.with(|idle| idle.iter().position(wanted).map(|at| idle.swap_remove(at)));
        if let Some(idle) = kept {
            return Some(Blas { functions, idle });
        }
        // `create` allocates device memory.
        let _relaxed = RelaxedCapture::begin(driver);
        // SAFETY: `guard` keeps the context current that the handle is made in.
        let handle: Handle = output(std::ptr::null_mut(), |handle| unsafe { functions.create(handle) }).ok()?;
        Some(Blas { functions, idle: Idle { handle: handle.expose_provenance(), context, context_id } })
    }

    /// Keeps the handle for another call, unless the context has no id that reveals a reset. The context is current.
    pub fn end(self) {
        let kept = self.idle.context_id != 0
            && IDLE.with(|idle| {
                let has_place = idle.len() < KEPT && idle.try_reserve(1).is_ok();
                if has_place {
                    idle.push(self.idle);
                }
                has_place
            });
        if !kept {
            // SAFETY: the handle is not used again, and the caller keeps its context current.
            let _ = unsafe { self.functions.destroy(self.handle()) };
        }
    }

    /// # Safety
    /// The array contract: `x`, below also `y`, is the address of `count` values of the precision `of`, in memory that the
    /// handle's context can access.
    pub unsafe fn asum(&self, of: Precision, count: c_int, x: u64) -> Result<f64, BlasFailure> {
        let (mut single, mut double) = (0.0, 0.0);
        match of {
            // SAFETY: the caller fulfils the array contract, and `single` is writable.
            Precision::Single => unsafe { self.functions.sasum(self.handle(), count, x, 1, &mut single) }?,
            // SAFETY: the caller fulfils the array contract, and `double` is writable.
            Precision::Double => unsafe { self.functions.dasum(self.handle(), count, x, 1, &mut double) }?,
        }
        Ok(double + f64::from(single))
    }

    /// # Safety
    /// The array contract of [`Blas::asum`].
    pub unsafe fn sumsq(&self, of: Precision, count: c_int, x: u64) -> Result<f64, BlasFailure> {
        let (mut single, mut double) = (0.0, 0.0);
        match of {
            // SAFETY: the caller fulfils the array contract, and `single` is writable.
            Precision::Single => unsafe { self.functions.sdot(self.handle(), count, x, 1, x, 1, &mut single) }?,
            // SAFETY: the caller fulfils the array contract, and `double` is writable.
            Precision::Double => unsafe { self.functions.ddot(self.handle(), count, x, 1, x, 1, &mut double) }?,
        }
        Ok(double + f64::from(single))
    }

    /// # Safety
    /// The array contract of [`Blas::asum`].
    pub unsafe fn scale(&self, of: Precision, count: c_int, factor: f64, x: u64) -> Result<(), BlasFailure> {
        match of {
            // SAFETY: the caller fulfils the array contract, and the factor is readable.
            Precision::Single => unsafe { self.functions.sscal(self.handle(), count, &(factor as f32), x, 1) },
            // SAFETY: the caller fulfils the array contract, and the factor is readable.
            Precision::Double => unsafe { self.functions.dscal(self.handle(), count, &factor, x, 1) },
        }
    }

    /// Subtracts the values at `x` from those at `y`.
    ///
    /// # Safety
    /// The array contract of [`Blas::asum`].
    pub unsafe fn subtract(&self, of: Precision, count: c_int, x: u64, y: u64) -> Result<(), BlasFailure> {
        match of {
            // SAFETY: the caller fulfils the array contract, and the factor is readable.
            Precision::Single => unsafe { self.functions.saxpy(self.handle(), count, &-1.0, x, 1, y, 1) },
            // SAFETY: the caller fulfils the array contract, and the factor is readable.
            Precision::Double => unsafe { self.functions.daxpy(self.handle(), count, &-1.0, x, 1, y, 1) },
        }
    }

    fn handle(&self) -> Handle {
        std::ptr::with_exposed_provenance_mut(self.idle.handle)
    }
}
