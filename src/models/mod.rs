//! Open model files, and their values as contents of objects.
//!
//! The crate `caffemodel` knows the format. This room adds names as C's strings and the two kinds of errors. Values go
//! from the file to the host side by `pread`, without a copy in between where the types agree. An open model does not
//! change: threads share it without a lock.

pub mod blob_file;
mod failure;
mod read;

use std::ffi::{CStr, CString};
use std::path::Path;

pub use caffemodel::{At, ErrorKind, Kind, Part};
use caffemodel::{Blob, Layer, State};

pub use failure::Failure;
pub use read::element_type;

use crate::platform::cancel_guard::CancelGuard;

/// Values are read when they are asked for.
pub struct Model {
    file: caffemodel::Model,
    name: CString,
    learned_net: CString,
    layers: Vec<(CString, CString)>,
}

impl Model {
    /// Reads the structure: no values.
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

    /// Empty if the net has none.
    pub fn name(&self) -> &CStr {
        &self.name
    }

    pub fn state(&self) -> Option<&State> {
        self.file.state()
    }

    /// The `.caffemodel` that a solver saved with its state; empty in other files.
    pub fn learned_net(&self) -> &CStr {
        &self.learned_net
    }

    pub fn layer_count(&self) -> usize {
        self.layers.len()
    }

    /// With its name and type.
    pub fn layer(&self, index: usize) -> Result<(&Layer, &CStr, &CStr), Failure> {
        let layer = self.file.layer(index)?;
        let (name, of) = self.layers.get(index).map_or((c"", c""), |(name, of)| (name, of));
        Ok((layer, name, of))
    }

    /// An error if the array's values do not fit its shape.
    pub fn check(&self, at: At) -> Result<(), Failure> {
        Ok(self.file.array(at).map(drop)?)
    }

    /// The values may not fit the blob's shape. Also the shape that the net gives it.
    pub fn blob(&self, at: At) -> Result<(&Blob, &[i64]), Failure> {
        let blob = self.file.blob(at)?;
        let in_net = self.file.layer(at.layer)?.shape_in_net(at.blob);
        Ok((blob, in_net.unwrap_or(blob.shape())))
    }
}

/// Ends at a NUL in the name.
fn text(name: &str) -> Result<CString, Failure> {
    let name = name.split('\0').next().unwrap_or_default();
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(name.len() + 1).map_err(|_| Failure::no_room(name.len() + 1))?;
    bytes.extend_from_slice(name.as_bytes());
    bytes.push(0);
    Ok(CString::from_vec_with_nul(bytes).unwrap_or_default())
}
