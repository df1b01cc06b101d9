//! Files of one blob: `.binaryproto`.
#![expect(unsafe_code, reason = "host memory is filled, and written to files")]

use std::path::Path;

use caffemodel::{At, Element, Kind, Values, write_blob};
use syncedmem_core::head::{Access, Side};

use super::{Failure, Model};
use crate::blob::{Blob, Part, Ready};
use crate::object::element::ElementType;
use crate::platform::cancel_guard::CancelGuard;
use crate::platform::file::within_limit;

/// # Safety
/// Alone: no other thread uses the blob's memory during the call.
pub unsafe fn read(blob: &mut Blob, path: &Path) -> Result<(), Failure> {
    let model = Model::open(path)?;
    if model.kind() != Kind::Blob {
        let advice = "open it with syncedmem_model_open";
        return Err(Failure::unsupported(path, format_args!("is no file of one blob"), advice));
    }
    let element = blob.element();
    let stored = model.blob(At::data(0, 0))?.blob;
    blob.reshape_with(stored.shape(), |[data, diff]| {
        // SAFETY: the caller of `read` keeps the contract "Alone".
        unsafe { model.read(At::data(0, 0), element, data) }?;
        match stored.diff() {
            // SAFETY: the caller of `read` keeps the contract "Alone".
            Some(_) => unsafe { model.read(At::diff(0, 0), element, diff) },
            None => Ok(()),
        }
    })
}

pub fn write(blob: &Blob, with_diff: bool, path: &Path) -> Result<(), Failure> {
    let _guard = CancelGuard::begin();
    let element = match blob.element() {
        ElementType::Float32 => Element::F32,
        ElementType::Float64 => Element::F64,
        other => {
            return Err(Failure::unsupported(
                path,
                format_args!("files of one blob have no values of {}", other.name()),
                "write a blob of float32 or float64",
            ));
        }
    };
    let count = blob.shape().count();
    let array = |part| Ready::new(blob.memory(part)?, Access::Read, Side::Host);
    let values = |ready: &Ready<'_>| {
        // SAFETY: the memory has `count` elements; the C caller lets no other thread write them during the call.
        let bytes = unsafe { std::slice::from_raw_parts(ready.address.cast::<u8>(), count * blob.element().bytes()) };
        Values::new(element, count as u64, bytes)
    };
    let data = array(Part::Data)?;
    let diff = with_diff.then(|| array(Part::Diff)).transpose()?;
    let dims: Vec<i64> = blob.shape().dims().iter().map(|dim| i64::from(*dim)).collect();
    let values = (values(&data), diff.as_ref().map(values));
    Ok(within_limit(|| write_blob(path, &dims, values.0, values.1))?)
}
