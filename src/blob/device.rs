#![expect(unsafe_code, reason = "the driver's functions are called")]

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use syncedmem_core::head::Side;

use super::error::Error;
use super::math::Term;
use super::ready::Ready;
use crate::copy;
use crate::cuda::cublas::{Blas, BlasFailure, Precision};
use crate::cuda::{self, driver};
use crate::memory::blocks;
use crate::memory::device::{self, Entered};
use crate::object::element::ElementType;
use crate::platform::text::warn_once;

/// Ordered as `cudaMemcpy` on the legacy default stream.
///
/// # Safety
/// Both sides have that many bytes.
pub unsafe fn copy(target: &Ready<'_>, source: &Ready<'_>, bytes: usize) -> Result<(), Error> {
    let (Some(to), Some(from)) = (NonNull::new(target.address), NonNull::new(source.address)) else { return Ok(()) };
    if bytes == 0 {
        return Ok(());
    }
    // SAFETY: the caller guarantees it.
    Ok(unsafe { copy::between_devices(cuda::driver()?, (to, owner(target)?), from, bytes) }?)
}

/// cuBLAS in the context of an array on the device.
pub struct Math<'d> {
    blas: Blas,
    of: Precision,
    count: i32,
    _entered: Entered<'d>,
}

impl Math<'_> {
    /// `None`: no cuBLAS starts.
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
    /// Here and below: the arrays have the math's elements.
    pub unsafe fn sum(self, own: &Ready<'_>, term: Term) -> Result<f64, Error> {
        let sum = match term {
            // SAFETY: the caller guarantees it; here and below.
            Term::Abs => unsafe { self.blas.asum(self.of, self.count, address(own)) },
            // SAFETY: as above.
            Term::Square => unsafe { self.blas.sumsq(self.of, self.count, address(own)) },
        };
        self.end(sum)
    }

    /// # Safety
    /// As for `sum`.
    pub unsafe fn scale(self, own: &Ready<'_>, factor: f64) -> Result<(), Error> {
        // SAFETY: as above.
        let scaled = unsafe { self.blas.scale(self.of, self.count, factor, address(own)) };
        goes_on(own);
        self.end(scaled)
    }

    /// # Safety
    /// As for `sum`.
    pub unsafe fn subtract(self, own: &Ready<'_>, from: &Ready<'_>) -> Result<(), Error> {
        // SAFETY: as above.
        let subtracted = unsafe { self.blas.subtract(self.of, self.count, address(from), address(own)) };
        goes_on(own);
        goes_on(from);
        self.end(subtracted)
    }

    /// A failed handle is not kept: its state is unknown.
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

/// The object's address, if it owns its device block.
fn owner(ready: &Ready<'_>) -> Result<Option<usize>, Error> {
    Ok(ready.memory.owns(Side::Device)?.then_some(ready.memory.as_ptr().addr()))
}

fn address(ready: &Ready<'_>) -> u64 {
    driver::address(ready.address)
}

/// The legacy default stream may still use the block: copies on other streams wait for it.
fn goes_on(ready: &Ready<'_>) {
    if let Some(block) = NonNull::new(ready.address) {
        blocks::set_pending_on_legacy(block, true);
    }
}
