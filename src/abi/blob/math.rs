//! The math of blobs.

use super::handle::{changed, syncedmem_blob_t};
use crate::abi::arguments::{handle, out};
use crate::abi::call::entry;
use crate::abi::element::part;
use crate::abi::status::syncedmem_status_t;
use crate::blob::{self, Term};

/// Subtracts the diff from the data, element by element, on the side where the data is; if on both, on the device. The
/// device needs cuBLAS, which is loaded at the first use; without it the host computes.
///
/// Errors: `INVALID_STATE` (the blob has no shape, or its data was never touched), `UNSUPPORTED` (integers).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_update(blob: *mut syncedmem_blob_t) -> syncedmem_status_t {
    entry!(changed(blob), |blob| blob.update()?)
}

/// Writes the sum of an array's absolute values to `*sum`, computed where the array is; 0 if it was never touched. The
/// host sums in doubles, in an order that does not depend on the CPU.
///
/// Errors: `UNSUPPORTED` (integers).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_asum(
    blob: *const syncedmem_blob_t,
    array: i32,
    sum: *mut f64,
) -> syncedmem_status_t {
    entry!(handle(blob), out(sum), |blob, sum| sum.set(blob.sum(part(array)?, Term::Abs)?))
}

/// Works as `syncedmem_blob_asum`, for the sum of the squares.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_sumsq(
    blob: *const syncedmem_blob_t,
    array: i32,
    sum: *mut f64,
) -> syncedmem_status_t {
    entry!(handle(blob), out(sum), |blob, sum| sum.set(blob.sum(part(array)?, Term::Square)?))
}

/// Multiplies the elements of an array by `factor`, rounded to their type, where the array is; does nothing if it was
/// never touched.
///
/// Errors: as `syncedmem_blob_asum`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_scale(
    blob: *mut syncedmem_blob_t,
    array: i32,
    factor: f64,
) -> syncedmem_status_t {
    entry!(changed(blob), |blob| blob.scale(part(array)?, factor)?)
}

/// Writes to `*count` how many calls computed on the host, although the array was on the device, because cuBLAS was not
/// found. The first one prints a warning on standard error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_computed_on_host(count: *mut u64) -> syncedmem_status_t {
    entry!(out(count), |count| count.set(blob::computed_on_host()))
}
