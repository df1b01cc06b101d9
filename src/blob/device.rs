//! Accesses to a blob's memory, and the device's part of its copies and math.
#![expect(unsafe_code, reason = "the driver's functions are called")]

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use syncedmem_core::head::{Access, Side};

use super::error::Error;
use super::math::Term;
use crate::copy;
use crate::cuda::cublas::{Blas, BlasFailure, Precision};
use crate::cuda::{self, driver};
use crate::memory::blocks;
use crate::memory::device::{self, Entered};
use crate::object::element::ElementType;
use crate::object::owner::Shared;
use crate::platform::text::warn_once;

/// A side that was made current and ready for an access.
pub struct Ready<'b> {
    pub memory: &'b Shared,
    /// Null only for a device side of 0 bytes.
    pub address: *mut c_void,
}

impl<'b> Ready<'b> {
    pub fn new(memory: &'b Shared, access: Access, side: Side) -> Result<Ready<'b>, Error> {
        Ok(Ready { memory, address: memory.data(access, side)? })
    }
}

/// Copies as `cudaMemcpy` does, ordered on the legacy default stream.
///
/// # Safety
/// Both device blocks have that many bytes.
pub unsafe fn copy(target: &Ready<'_>, source: &Ready<'_>, bytes: usize) -> Result<(), Error> {
    let (Some(to), Some(from)) = (NonNull::new(target.address), NonNull::new(source.address)) else { return Ok(()) };
    if bytes == 0 {
        return Ok(());
    }
    // SAFETY: the caller of `copy` passes blocks of that many bytes.
    Ok(unsafe { copy::between_devices(cuda::driver()?, (to, owner(target)?), from, bytes) }?)
}

/// cuBLAS in the context of an array on the device.
///
/// # Safety
/// Each array passed to `sum`, `scale` and `subtract` has the `count` elements of [`Math::begin`] on the device ("the elements
/// of `Math`").
pub struct Math<'d> {
    blas: Blas,
    of: Precision,
    count: i32,
    _entered: Entered<'d>,
}

impl Math<'_> {
    /// `None` if cuBLAS does not start.
    pub fn begin(ready: &Ready<'_>, element: ElementType, count: usize) -> Result<Option<Self>, Error> {
        let of = match element {
            ElementType::Float32 => Precision::Single,
            ElementType::Float64 => Precision::Double,
            other => return Err(Error::NoMath(other)),
        };
        let driver = cuda::driver()?;
        let block = NonNull::new(ready.address).unwrap_or(NonNull::dangling());
        let entered = device::enter(driver, block, owner(ready)?)?;
        let Some(blas) = Blas::begin(driver, &entered.0) else {
            note_host();
            return Ok(None);
        };
        // A shape's count fits an int.
        Ok(Some(Math { blas, of, count: count as i32, _entered: entered }))
    }

    /// # Safety
    /// `own` has the elements of `Math`.
    pub unsafe fn sum(self, own: &Ready<'_>, term: Term) -> Result<f64, Error> {
        let sum = match term {
            // SAFETY: the caller of `sum` passes an array with the elements of `Math`.
            Term::Abs => unsafe { self.blas.asum(self.of, self.count, address(own)) },
            // SAFETY: the caller of `sum` passes an array with the elements of `Math`.
            Term::Square => unsafe { self.blas.sumsq(self.of, self.count, address(own)) },
        };
        self.end(sum)
    }

    /// # Safety
    /// `own` has the elements of `Math`.
    pub unsafe fn scale(self, own: &Ready<'_>, factor: f64) -> Result<(), Error> {
        // SAFETY: the caller of `scale` passes an array with the elements of `Math`.
        let scaled = unsafe { self.blas.scale(self.of, self.count, factor, address(own)) };
        note_pending(own);
        self.end(scaled)
    }

    /// # Safety
    /// Both arrays have the elements of `Math`.
    pub unsafe fn subtract(self, own: &Ready<'_>, from: &Ready<'_>) -> Result<(), Error> {
        // SAFETY: the caller of `subtract` passes arrays with the elements of `Math`.
        let subtracted = unsafe { self.blas.subtract(self.of, self.count, address(from), address(own)) };
        note_pending(own);
        note_pending(from);
        self.end(subtracted)
    }

    /// Keeps the handle for the next call, unless it failed: its state is then unknown.
    fn end<T>(self, result: Result<T, BlasFailure>) -> Result<T, Error> {
        let value = result?;
        self.blas.end();
        Ok(value)
    }
}

static ON_HOST: AtomicU64 = AtomicU64::new(0);

pub fn computed_on_host() -> u64 {
    ON_HOST.load(Relaxed)
}

#[cold]
fn note_host() {
    static HAS_WARNED: AtomicBool = AtomicBool::new(false);
    ON_HOST.fetch_add(1, Relaxed);
    warn_once(
        &HAS_WARNED,
        format_args!(
            "a blob's math was asked for on the device, and there is no cuBLAS that starts: the host computes, and such calls are \
             counted from now on (syncedmem_blob_computed_on_host); install libcublas of the driver's CUDA version, where the \
             loader finds it"
        ),
    );
}

/// The object's address if it owns its device block.
fn owner(ready: &Ready<'_>) -> Result<Option<usize>, Error> {
    Ok(ready.memory.owns(Side::Device)?.then_some(ready.memory.as_ptr().addr()))
}

fn address(ready: &Ready<'_>) -> u64 {
    driver::address(ready.address)
}

/// Notes that the legacy default stream may still use the block, so that copies on other streams wait for it.
fn note_pending(ready: &Ready<'_>) {
    if let Some(block) = NonNull::new(ready.address) {
        blocks::set_pending_on_legacy(block, true);
    }
}
