//! One blob as a file.

use std::ffi::c_char;

use super::open::file;
use crate::abi::arguments::handle;
use crate::abi::blob::handle::{changed, syncedmem_blob_t};
use crate::abi::call::entry;
use crate::abi::status::syncedmem_status_t;
use crate::models::blob_file;

/// Gives `blob` the shape, the data and, if any, the diff of a `.binaryproto` of one blob. Values are read as the
/// blob's element type. After an error `blob` is as it was, except in the case that `syncedmem_model_read_blob` names.
///
/// Errors: `INVALID_ARGUMENT` (also a shape that no blob can have; a blob of integers), `FILE`, `FORMAT`, `UNSUPPORTED`
/// (the file holds something else: `syncedmem_model_open` reads it).
///
/// # Safety
/// No other thread uses the blob's memory.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_blob_read(blob: *mut syncedmem_blob_t, path: *const c_char) -> syncedmem_status_t {
    entry!(changed(blob), file(path), |blob, path| {
        // SAFETY: the C caller lets no other thread use the blob's memory ("Safety" above).
        unsafe { blob_file::read(blob, path) }?;
    })
}

/// Writes the shape and the data of `blob`, and with `diff` its diff, to a `.binaryproto`. A file of the name stays
/// until the new one is whole and on the disk.
///
/// Errors: `INVALID_STATE` (the blob has no shape), `UNSUPPORTED` (a blob of integers; more than Caffe can read, 2
/// GiB), `FILE`.
///
/// # Safety
/// No other thread writes the blob's memory.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_blob_write(
    blob: *const syncedmem_blob_t,
    diff: bool,
    path: *const c_char,
) -> syncedmem_status_t {
    entry!(handle(blob), file(path), |blob, path| blob_file::write(blob, diff, path)?)
}
