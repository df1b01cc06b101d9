//! Open model files, and their values as contents of objects.
//!
//! The crate `caffemodel` knows the format; this room adds C's strings. Values go from the file to the host side by `pread`,
//! without another copy if the types agree. An open model does not change, so threads share it without a lock.

pub mod blob_file;
mod failure;
mod read;

use std::ffi::{CStr, CString};
use std::path::Path;

pub use caffemodel::{At, ErrorKind, Kind, TorchRole};
use caffemodel::{Blob, Layer, State};

pub use failure::Failure;
pub use read::element_type;

use crate::platform::cancel_guard::CancelGuard;

pub struct Model {
    file: caffemodel::Model,
    name: CString,
    learned_net: CString,
    layers: Vec<(CString, CString)>,
}

impl Model {
    pub fn open(path: &Path) -> Result<Self, Failure> {
        // Reading is a cancellation point.
        let _guard = CancelGuard::begin();
        let file = caffemodel::Model::open(path)?;
        let mut layers = Vec::new();
        let out_of_memory = |_| Failure::out_of_memory(size_of_val(file.layers()));
        layers.try_reserve_exact(file.layers().len()).map_err(out_of_memory)?;
        for layer in file.layers() {
            layers.push((text(layer.name())?, text(layer.type_name())?));
        }
        let learned_net = text(file.state().map_or("", |state| &state.learned_net))?;
        Ok(Self { name: text(file.name())?, learned_net, layers, file })
    }

    pub fn kind(&self) -> Kind {
        self.file.kind()
    }

    pub fn name(&self) -> &CStr {
        &self.name
    }

    pub fn state(&self) -> Option<&State> {
        self.file.state()
    }

    /// The `.caffemodel` of a solver's state; empty for other files.
    pub fn learned_net(&self) -> &CStr {
        &self.learned_net
    }

    pub fn layer_count(&self) -> usize {
        self.layers.len()
    }

    /// The layer, its name and its type.
    pub fn layer(&self, index: usize) -> Result<(&Layer, &CStr, &CStr), Failure> {
        let layer = self.file.layer(index)?;
        let (name, of) = self.layers.get(index).map_or((c"", c""), |(name, of)| (name, of));
        Ok((layer, name, of))
    }

    /// Fails if the values do not fit the shape.
    #[cfg(feature = "caffe2")]
    pub fn check(&self, at: At) -> Result<(), Failure> {
        Ok(self.file.array(at).map(drop)?)
    }

    pub fn blob(&self, at: At) -> Result<BlobInNet<'_>, Failure> {
        let (blob, layer) = (self.file.blob(at)?, self.file.layer(at.layer)?);
        let net_shape = layer.shape_in_net(at.blob).unwrap_or(blob.shape());
        Ok(BlobInNet { blob, net_shape, torch: layer.torch(at.blob) })
    }
}

/// A blob as its layer uses it. Its values may not fit its shape.
pub struct BlobInNet<'m> {
    pub blob: &'m Blob,
    pub net_shape: &'m [i64],
    /// [`Layer::torch`]
    pub torch: Option<(TorchRole, &'m [i64])>,
}

/// A name as a C string: the names of `caffemodel` have no NUL.
fn text(name: &str) -> Result<CString, Failure> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(name.len() + 1).map_err(|_| Failure::out_of_memory(name.len() + 1))?;
    bytes.extend_from_slice(name.as_bytes());
    bytes.push(0);
    Ok(CString::from_vec_with_nul(bytes).unwrap_or_default())
}
