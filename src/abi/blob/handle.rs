//! Handles of blobs.

use crate::abi::arguments::{self, Opaque, out};
use crate::abi::call::entry;
use crate::abi::element::element_type;
use crate::abi::handle::{Handle, Handled};
use crate::abi::status::syncedmem_status_t;
use crate::blob::Blob;
use crate::blob::error::Error;
use crate::error;

/// A blob.
pub struct syncedmem_blob_t(());

impl Handled for Blob {
    const LIVE: u64 = u64::from_le_bytes(*b"\x17blob\xa1\xf3\x9a");
    const NULL: &'static str = "the blob is NULL or misaligned; pass a handle from syncedmem_blob_create";
    const ENDED: &'static str =
        "the handle does not lead to a live blob: it was destroyed, or its memory was overwritten; create another";
}

impl Opaque for syncedmem_blob_t {
    type Value = Blob;

    unsafe fn value<'a>(handle: *const Self) -> Result<&'a Blob, error::Error> {
        // SAFETY: the C caller passes a live handle, and keeps it while the result is used.
        unsafe { Handle::value(handle.cast()) }
    }
}

/// The blob of a handle, for a change.
///
/// # Safety
/// The handle is the C caller's, and no other thread uses it.
pub(in crate::abi) unsafe fn changed<'a>(handle: *mut syncedmem_blob_t) -> Result<&'a mut Blob, Error> {
    // SAFETY: the C caller passes a live handle that no other thread uses ("Threads" in syncedmem_blob.h).
    Ok(unsafe { Handle::value_mut(handle.cast()) }?)
}

pub(super) unsafe fn numbers<'a>(first: *const i64, length: usize) -> Result<&'a [i64], Error> {
    let what = "the numbers are NULL, misaligned or more than memory holds; pass the address of as many int64_t as their count says";
    // SAFETY: the C caller passes `length` numbers.
    Ok(unsafe { arguments::numbers(first, length, what) }?)
}

/// Creates a blob without shape and memory, and writes its handle to `*blob`. `type` is a `syncedmem_type_t`:
/// `SYNCEDMEM_FLOAT32`, `SYNCEDMEM_FLOAT64`, `SYNCEDMEM_INT32` or `SYNCEDMEM_UINT32`.
///
/// Errors: `UNSUPPORTED` (another type).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_create(r#type: i32, blob: *mut *mut syncedmem_blob_t) -> syncedmem_status_t {
    entry!(out(blob), |blob| blob.set(Handle::make(Blob::new(element_type(r#type)?)?)?.as_ptr().cast()))
}

/// Destroys a blob.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_blob_destroy(blob: *mut syncedmem_blob_t) -> syncedmem_status_t {
    entry!(|| {
        // SAFETY: the C caller passes a live handle that no other thread uses, or NULL.
        unsafe { Handle::<Blob>::end(blob.cast()) }?;
    })
}
