//! Opening and closing of model files.

use std::ffi::{OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::abi::arguments::{Opaque, out, string};
use crate::abi::call::entry;
use crate::abi::handle::{Handle, Handled};
use crate::abi::status::syncedmem_status_t;
use crate::error::Error;
use crate::models::Model;

/// A model file that is open.
pub struct syncedmem_model_t(());

impl Handled for Model {
    const LIVE: u64 = u64::from_le_bytes(*b"\x17model\xf3\x9a");
    const NULL: &'static str = "model is NULL or misaligned; pass the handle that syncedmem_model_open returned";
    const ENDED: &'static str = "the handle does not lead to an open model: it was closed, or its memory was overwritten; \
                                 open the file again";
}

impl Opaque for syncedmem_model_t {
    type Value = Model;

    unsafe fn value<'a>(handle: *const Self) -> Result<&'a Model, Error> {
        // SAFETY: the C caller passes a live handle, and keeps it while the result is used.
        unsafe { Handle::value(handle.cast()) }
    }
}

/// The path of a file.
pub(in crate::abi) unsafe fn file<'a>(path: *const c_char) -> Result<&'a Path, Error> {
    // SAFETY: the C caller passes a string.
    Ok(Path::new(OsStr::from_bytes(unsafe { string(path) }?.to_bytes())))
}

/// Opens a model file, and writes the model's handle to `*model`. The file's name decides what it is, or else its
/// contents.
///
/// Errors: `FILE` (also no regular file), `FORMAT`, `UNSUPPORTED` (HDF5, text, a compressed file; more layers and names
/// than a file of its size can have).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_model_open(
    path: *const c_char,
    model: *mut *mut syncedmem_model_t,
) -> syncedmem_status_t {
    entry!(file(path), out(model), |path, model| model.set(Handle::make(Model::open(path)?)?.as_ptr().cast()))
}

/// Closes a model and its file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_model_close(model: *mut syncedmem_model_t) -> syncedmem_status_t {
    entry!(|| {
        // SAFETY: the C caller passes a live handle that no other thread uses, or NULL.
        unsafe { Handle::<Model>::end(model.cast()) }?;
    })
}
