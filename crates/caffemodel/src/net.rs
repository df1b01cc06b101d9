//! The layers of a net, of all three generations of `caffe.proto`.

use std::borrow::Cow;
use std::ops::Range;

use crate::blob::{self, Blob, Dialect};
use crate::error::Error;
use crate::upgrade;
use crate::wire::{Field, Scanner, Wire};

/// Which generation of `caffe.proto` describes a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// Until early 2014: types such as `innerproduct`.
    V0,
    /// Until 2015: types are numbers.
    V1,
    /// Since then: types such as `InnerProduct`.
    V2,
}

/// A layer of a net; or all blobs of a file that is no net.
#[derive(Clone, Debug)]
pub struct Layer {
    pub(crate) name: String,
    pub(crate) type_name: Cow<'static, str>,
    version: Version,
    blobs: Vec<Blob>,
    span: Range<u64>,
}

impl Layer {
    /// Its name, which another layer may have too.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its type as Caffe has named it since 2015; `#57` for a number without a name, empty if none is stored.
    pub fn type_name(&self) -> &str {
        &self.type_name
    }

    /// Which generation of `caffe.proto` describes it.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Its blobs, in order: weights before biases.
    pub fn blobs(&self) -> &[Blob] {
        &self.blobs
    }

    /// The bytes of its message in the file, without the tag and the length before it.
    pub fn span(&self) -> Range<u64> {
        self.span.clone()
    }

    /// The shape that the net gives a blob: without the leading ones that legacy dimensions have. `None` if there is no such blob.
    ///
    /// Weights of an `InnerProduct` keep their last two dimensions, and biases of it and of convolutions the last one.
    pub fn shape_in_net(&self, blob: usize) -> Option<&[i64]> {
        let stored = self.blobs.get(blob)?;
        let kept = match (&*self.type_name, blob) {
            ("InnerProduct", 0) => 2,
            ("InnerProduct" | "Convolution" | "Deconvolution" | "Convolution3D" | "Deconvolution3D", 1) => 1,
            _ => return Some(stored.shape()),
        };
        let (leading, last) = stored.shape().split_at(stored.shape().len().saturating_sub(kept));
        let are_spare = stored.is_legacy() && leading.iter().all(|dim| *dim == 1);
        Some(if are_spare { last } else { stored.shape() })
    }

    pub(crate) fn of_blobs(name: &'static str, blobs: Vec<Blob>, span: Range<u64>) -> Self {
        Self { name: name.to_string(), type_name: Cow::Borrowed(""), version: Version::V2, blobs, span }
    }
}

/// A layer's type as it is stored.
enum StoredType {
    None,
    Name(String),
    Number(i32),
}

/// A layer before it is known whose type numbers the file uses.
struct Found {
    layer: Layer,
    kind: StoredType,
}

/// Scans the whole file as a net: its name, and its layers in the order of the file.
pub(crate) fn scan(scanner: &mut Scanner, end: u64) -> Result<(String, Vec<Layer>), Error> {
    let (mut name, mut found) = (String::new(), Vec::new());
    while let Some(field) = scanner.field(end)? {
        let version = match (field.number, field.wire) {
            (1, Wire::Bytes) => {
                let range = scanner.bytes(end)?;
                name = scanner.text(&range)?;
                continue;
            }
            (2, Wire::Bytes) => Version::V1,
            (100, Wire::Bytes) => Version::V2,
            _ => {
                scanner.skip(field, end)?;
                continue;
            }
        };
        let index = found.len();
        scanner.charge::<Found>(1)?;
        scanner.charge::<Layer>(1)?;
        let span = scanner.bytes(end).map_err(|error| error.in_layer(index, ""))?;
        found.extend(layer(scanner, span, version, index)?);
    }
    let is_c3d = found.iter().flat_map(|found| &found.layer.blobs).any(|blob| blob.dialect() == Dialect::C3d);
    Ok((name, found.into_iter().map(|found| found.named(is_c3d)).collect()))
}

impl Found {
    fn named(self, is_c3d: bool) -> Layer {
        let type_name = match self.kind {
            StoredType::None => Cow::Borrowed(""),
            StoredType::Number(number) => upgrade::numbered(number, is_c3d),
            StoredType::Name(name) if self.layer.version == Version::V0 => upgrade::from_v0(name),
            StoredType::Name(name) => Cow::Owned(name),
        };
        Layer { type_name, ..self.layer }
    }
}

/// What a layer's message has said so far.
struct Draft {
    name: String,
    kind: StoredType,
    blobs: Vec<Blob>,
}

/// Numbers of the fields that are looked at.
struct Numbers {
    name: u32,
    kind: (u32, Wire),
    blobs: u32,
}

const V0: Numbers = Numbers { name: 1, kind: (2, Wire::Bytes), blobs: 50 };
const V1: Numbers = Numbers { name: 4, kind: (5, Wire::Varint), blobs: 6 };
const V2: Numbers = Numbers { name: 1, kind: (2, Wire::Bytes), blobs: 7 };

impl Draft {
    fn new() -> Self {
        Self { name: String::new(), kind: StoredType::None, blobs: Vec::new() }
    }

    /// Takes a field, or steps over it.
    fn take(&mut self, scanner: &mut Scanner, field: Field, end: u64, numbers: &Numbers) -> Result<(), Error> {
        match field.wire {
            Wire::Bytes if field.number == numbers.name => {
                let range = scanner.bytes(end)?;
                self.name = scanner.text(&range)?;
            }
            Wire::Varint if (field.number, field.wire) == numbers.kind => {
                self.kind = StoredType::Number(scanner.varint(end)? as i32);
            }
            Wire::Bytes if (field.number, field.wire) == numbers.kind => {
                let range = scanner.bytes(end)?;
                self.kind = StoredType::Name(scanner.text(&range)?);
            }
            Wire::Bytes if field.number == numbers.blobs => {
                let index = self.blobs.len();
                scanner.charge::<Blob>(1)?;
                let blob = scanner.bytes(end).and_then(|span| blob::scan(scanner, span));
                self.blobs.push(blob.map_err(|error| error.in_blob(index))?);
            }
            _ => scanner.skip(field, end)?,
        }
        Ok(())
    }
}

/// Scans a layer; `None` for a layer that upgrading takes out of the net.
fn layer(scanner: &mut Scanner, span: Range<u64>, version: Version, index: usize) -> Result<Option<Found>, Error> {
    let (mut draft, mut inner) = (Draft::new(), None);
    scanner.position = span.start;
    if let Err(error) = fields(scanner, &span, version, &mut draft, &mut inner) {
        return Err(error.in_layer(index, &inner.unwrap_or(draft).name));
    }
    // Of a V0 layer all is in the message inside.
    let (version, Draft { name, kind, blobs }) = match inner {
        Some(inner) => (Version::V0, inner),
        None => (version, draft),
    };
    // Caffe moves the padding into the layer behind.
    if version == Version::V0 && blobs.is_empty() && matches!(&kind, StoredType::Name(name) if name == "padding") {
        return Ok(None);
    }
    let layer = Layer { name, type_name: Cow::Borrowed(""), version, blobs, span };
    Ok(Some(Found { layer, kind }))
}

fn fields(
    scanner: &mut Scanner,
    span: &Range<u64>,
    version: Version,
    draft: &mut Draft,
    inner: &mut Option<Draft>,
) -> Result<(), Error> {
    while let Some(field) = scanner.field(span.end)? {
        match (version, field.number, field.wire) {
            (Version::V1, 1, Wire::Bytes) => {
                let range = scanner.bytes(span.end)?;
                let inner = inner.get_or_insert_with(Draft::new);
                scanner.position = range.start;
                while let Some(field) = scanner.field(range.end)? {
                    inner.take(scanner, field, range.end, &V0)?;
                }
            }
            (Version::V1, ..) => draft.take(scanner, field, span.end, &V1)?,
            _ => draft.take(scanner, field, span.end, &V2)?,
        }
    }
    Ok(())
}
