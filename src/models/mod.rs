//! Open model files, and their values as contents of objects.
//!
//! The crate `caffemodel` knows the format; this room adds C's strings. Values go from the file to the host side by
//! `pread`, without another copy where the types agree. Threads share an open model without a lock: it does not change.

pub mod blob_file;
mod failure;
mod read;

use std::ffi::{CStr, CString};
use std::path::Path;

pub use caffemodel::{At, ErrorKind, Kind, Part, TorchRole};
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
        let no_room = |_| Failure::no_room(size_of_val(file.layers()));
        layers.try_reserve_exact(file.layers().len()).map_err(no_room)?;
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

    /// Empty in other files than a solver's.
    pub fn learned_net(&self) -> &CStr {
        &self.learned_net
    }

    pub fn layer_count(&self) -> usize {
        self.layers.len()
    }

    /// Returns its name and type too.
    pub fn layer(&self, index: usize) -> Result<(&Layer, &CStr, &CStr), Failure> {
        let layer = self.file.layer(index)?;
        let (name, of) = self.layers.get(index).map_or((c"", c""), |(name, of)| (name, of));
        Ok((layer, name, of))
    }

    /// An error if the values do not fit the shape.
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

/// A blob, whose values may not fit its shape, as its layer has it.
pub struct BlobInNet<'m> {
    pub blob: &'m Blob,
    pub net_shape: &'m [i64],
    /// [`Layer::torch`]
    pub torch: Option<(TorchRole, &'m [i64])>,
}

/// The crate's names have no NUL.
fn text(name: &str) -> Result<CString, Failure> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(name.len() + 1).map_err(|_| Failure::no_room(name.len() + 1))?;
    bytes.extend_from_slice(name.as_bytes());
    bytes.push(0);
    Ok(CString::from_vec_with_nul(bytes).unwrap_or_default())
}
