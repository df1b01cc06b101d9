//! Open model files.

use std::fmt::Display;
use std::path::Path;

use crate::allocate;
use crate::blob;
use crate::blob::{Array, Blob};
use crate::error::{Error, ErrorKind};
use crate::foreign;
use crate::init_net;
use crate::kind::Kind;
use crate::net::{self, Layer};
use crate::solver::{self, State};
use crate::source::Source;
use crate::wire::Scanner;

/// One of a blob's two arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The values.
    Data,
    /// The gradients.
    Diff,
}

impl Part {
    /// `data` or `diff`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Diff => "diff",
        }
    }
}

/// The place of an array in a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct At {
    /// Number of the layer.
    pub layer: usize,
    /// Number of the blob in its layer.
    pub blob: usize,
    /// Data or diff.
    pub part: Part,
}

impl At {
    /// The data of a blob.
    pub fn data(layer: usize, blob: usize) -> Self {
        Self { layer, blob, part: Part::Data }
    }

    /// The diff of a blob.
    pub fn diff(layer: usize, blob: usize) -> Self {
        Self { layer, blob, part: Part::Diff }
    }
}

/// A `.caffemodel`, `.binaryproto`, `.solverstate`, or Caffe2's `init_net.pb`.
///
/// A file that is no net has one layer: `blobs`, or a solver's `history`.
#[derive(Debug)]
pub struct Model {
    pub(crate) source: Source,
    kind: Kind,
    name: String,
    layers: Vec<Layer>,
    state: Option<State>,
}

impl Model {
    /// Scans a file's structure. Its name (`.caffemodel`, `.solverstate`) or else its fields decide the kind.
    ///
    /// # Errors
    /// `Io`: it cannot be opened or read, or is no regular file. `Format`: it is damaged, cut off, or no Caffe file.
    /// `Unsupported`: it has another format.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::scan(Source::open(path.as_ref())?, Kind::of_name(path.as_ref()))
    }

    /// Scans the contents of a file. Without a `kind` its fields decide it. Errors name the file `name`.
    ///
    /// # Errors
    /// Those of [`Model::open`].
    pub fn from_bytes(bytes: Vec<u8>, name: &str, kind: Option<Kind>) -> Result<Self, Error> {
        Self::scan(Source::of(bytes, name)?, kind)
    }

    fn scan(source: Source, kind: Option<Kind>) -> Result<Self, Error> {
        let end = source.length();
        let scanned = foreign::refuse(&source).and_then(|()| {
            let kind = kind.map_or_else(|| Kind::of_fields(&source), Ok)?;
            let mut scanner = Scanner::new(&source);
            let listed = |name, blobs| allocate::one(Layer::of_blobs(name, blobs));
            let (name, layers) = match kind {
                Kind::Net => net::scan(&mut scanner, end)?,
                Kind::InitNet => init_net::scan(&mut scanner, end)?,
                Kind::Blob => {
                    let blob = blob::scan(&mut scanner, 0..end).map_err(|error| error.in_blob(0))?;
                    (String::new(), listed("blobs", allocate::one(blob)?)?)
                }
                Kind::Blobs => (String::new(), listed("blobs", solver::blobs(&mut scanner, end)?)?),
                Kind::SolverState => {
                    let (state, history) = solver::scan(&mut scanner, end)?;
                    return Ok((kind, String::new(), listed("history", history)?, Some(state)));
                }
            };
            Ok((kind, name, layers, None))
        });
        let (kind, name, layers, state) = scanned.map_err(|error| foreign::explain(&source, error))?;
        Ok(Self { source, kind, name, layers, state })
    }

    /// The file's kind.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The net's name; may be empty.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The layers, in the order of the file.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// A solver's state; `None` for other files.
    pub fn state(&self) -> Option<&State> {
        self.state.as_ref()
    }

    /// The file's size in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.source.length()
    }

    /// An array. Its count is that of its blob's shape.
    ///
    /// # Errors
    /// `Argument`: there is no such layer, blob or diff. `Format` and `Unsupported`: the blob cannot be read.
    pub fn array(&self, at: At) -> Result<&Array, Error> {
        let blob = self.blob(at)?;
        if let Some(problem) = blob.problem() {
            let error =
                Error::new(problem.kind(), self.source.name(), problem.in_words(blob.shape()), problem.advice());
            return Err(self.place(error.at(blob.at()), at));
        }
        match at.part {
            Part::Data => Ok(blob.data()),
            Part::Diff => blob.diff().ok_or_else(|| {
                let advice = "read its data; diffs are saved only if the solver's snapshot_diff is set";
                self.refuse(at, "has no diff", advice)
            }),
        }
    }

    /// A layer.
    ///
    /// # Errors
    /// `Argument`: there is no such layer.
    pub fn layer(&self, index: usize) -> Result<&Layer, Error> {
        self.layers.get(index).ok_or_else(|| {
            let layers = self.layers.len();
            self.missing(format_args!("has no layer {index}: it has {layers}"), "layers are numbered from 0")
        })
    }

    /// A blob. Its values may not fit its shape.
    ///
    /// # Errors
    /// `Argument`: there is no such layer or blob.
    pub fn blob(&self, at: At) -> Result<&Blob, Error> {
        let layer = self.layer(at.layer)?;
        layer.blobs().get(at.blob).ok_or_else(|| {
            let what = format_args!("has no blob {}: it has {}", at.blob, layer.blobs().len());
            self.missing(what, "blobs are numbered from 0").in_layer(at.layer, layer.name())
        })
    }

    /// One of a layer's [`texts`](Layer::texts), which may be any bytes.
    ///
    /// # Errors
    /// `Argument`: there is no such layer or text. `Io`: reading failed.
    pub fn text(&self, layer: usize, number: usize) -> Result<Vec<u8>, Error> {
        let texts = self.layers.get(layer).and_then(Layer::texts);
        let range = texts.and_then(|texts| texts.ranges.get(number)).ok_or_else(|| {
            self.missing(format_args!("has no text {number}"), "ask for one of a layer's texts")
                .in_layer(layer, self.layers.get(layer).map_or("", Layer::name))
        })?;
        let mut text = allocate::zeros((range.end - range.start) as usize)?;
        self.source.read(&mut text, range.start)?;
        Ok(text)
    }

    /// An error of kind `Argument` that names the place.
    pub fn refuse(&self, at: At, what: impl Display, advice: &'static str) -> Error {
        self.place(self.missing(what, advice), at)
    }

    fn missing(&self, what: impl Display, advice: &'static str) -> Error {
        Error::new(ErrorKind::Argument, self.source.name(), what, advice)
    }

    pub(crate) fn place(&self, error: Error, at: At) -> Error {
        let name = self.layers.get(at.layer).map_or("", Layer::name);
        error.in_blob(at.blob).in_layer(at.layer, name)
    }
}
