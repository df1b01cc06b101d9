//! Reading of values into objects.

use super::open::syncedmem_model_t;
use crate::abi::arguments::handle;
use crate::abi::c::object::syncedmem_t;
use crate::abi::call::entry;
use crate::abi::element::{element_type, part};
use crate::abi::status::syncedmem_status_t;
use crate::models::At;

/// Reads a blob's values (`SYNCEDMEM_DATA`) or gradients (`SYNCEDMEM_DIFF`) into the host side of `mem`, which is
/// then the newest. `element_type` is a `syncedmem_type_t`: `SYNCEDMEM_FLOAT32`, `SYNCEDMEM_FLOAT64`, or the stored type, for
/// which nothing is converted or copied in between. Bytes of `mem` beyond the values stay as they are.
///
/// After an error `mem` is as it was, except in one case: if the disk or the network fails, and the host side alone held
/// the newest data, part of that is overwritten.
///
/// Errors: `INVALID_ARGUMENT` (also gradients that the file does not have; values that are not read as `element_type`;
/// `mem` is too small), `FORMAT` (the values do not fit the blob's shape), `UNSUPPORTED` (values of a type that is not
/// read), `FILE`.
///
/// # Safety
/// No other thread uses the host side of `mem` during the call.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_model_read_blob(
    model: *const syncedmem_model_t,
    layer: usize,
    blob: usize,
    array: i32,
    element_type: i32,
    mem: *mut syncedmem_t,
) -> syncedmem_status_t {
    entry!(handle(model), handle(mem), |model, object| {
        let part = self::part(array)?;
        let element = self::element_type(element_type)?;
        // SAFETY: the C caller lets no other thread use the host side of `mem` ("Safety" above).
        unsafe { model.read(At { layer, blob, part }, element, object) }?;
    })
}
