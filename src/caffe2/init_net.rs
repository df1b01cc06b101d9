//! Reading of `init_net.pb` into a workspace.
#![expect(unsafe_code, reason = "the memory of new tensors is filled")]

use std::path::Path;

use syncedmem_core::head::Side;
use syncedmem_core::text::Escaped;

use super::blob::Value;
use super::error::Error;
use super::handle::Handle;
use super::typemeta::TypeMeta;
use super::workspace::Workspace;
use crate::models::{At, BlobInNet, Failure, Kind, Model, element_type};
use crate::platform::fallible_arc::FallibleArc;

/// Makes each tensor the value of the blob of its name. After an error no blob has another value; new blobs are empty.
pub fn load(workspace: &Workspace, path: &Path) -> Result<(), Error> {
    let model = Model::open(path)?;
    if model.kind() != Kind::InitNet {
        return Err(Error::Argument(
            "the file holds no net of Caffe2's that fills tensors; pass an init_net.pb, or read the file by syncedmem_model_open",
        ));
    }
    let mut read = Vec::new();
    let out_of_memory =
        |_| Error::out_of_memory(model.layer_count() * size_of::<(FallibleArc<super::blob::Blob>, Value)>());
    read.try_reserve_exact(model.layer_count()).map_err(out_of_memory)?;
    for layer in 0..model.layer_count() {
        let value = Value::tensor(tensor(&model, layer, path)?)?;
        let (_, name, _) = model.layer(layer)?;
        read.push((workspace.create(name.to_bytes())?, value));
    }
    for (blob, value) in read {
        blob.set(value);
    }
    Ok(())
}

fn tensor(model: &Model, layer: usize, path: &Path) -> Result<FallibleArc<Handle>, Error> {
    let (operator, name, of) = model.layer(layer)?;
    if operator.blobs().is_empty() {
        let (name, of) = (Escaped(name.to_bytes()), Escaped(of.to_bytes()));
        return Err(Failure::unsupported(
            path,
            format_args!("the tensor {name} is filled by {of}, whose values are not in the file or are texts"),
            "run the net in Caffe2 and save its weights as numbers",
        )
        .into());
    }
    if operator.blobs().len() > 1 {
        return Err(Failure::unsupported(
            path,
            format_args!("the tensor {} is quantized, and a tensor here has no scale", Escaped(name.to_bytes())),
            "export its values, scale and zero point by `syncedmem model export`",
        )
        .into());
    }
    let at = At::data(layer, 0);
    // Checks the shape before memory is allocated for it.
    model.check(at)?;
    let BlobInNet { blob, net_shape, .. } = model.blob(at)?;
    let element = element_type(blob.data().element());
    let handle = Handle::new(Side::Host)?;
    // SAFETY: the tensor is new, so this is the only reference.
    let mut tensor = unsafe { handle.change() };
    tensor.resize(net_shape)?;
    tensor.raw_mutable_data(Some(&TypeMeta::of(element)))?;
    if let Some(storage) = tensor.storage() {
        // SAFETY: the tensor is new, so no other thread uses its memory.
        unsafe { model.read(at, element, storage.object()) }?;
    }
    drop(tensor);
    Ok(handle)
}
