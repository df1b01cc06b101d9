//! Layers of all three generations of `caffe.proto`.

use std::borrow::Cow;
use std::ops::Range;

use crate::blob::{self, Blob, Dialect};
use crate::error::Error;
use crate::upgrade;
use crate::wire::{Field, Scanner, Wire};

/// The generation of `caffe.proto` that describes a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// Until early 2014: types such as `innerproduct`.
    V0,
    /// Until 2015: types are numbers.
    V1,
    /// Since then: types such as `InnerProduct`.
    V2,
}

/// A layer of a net, an output of Caffe2's operator, or all blobs of a file that is no net.
#[derive(Clone, Debug)]
pub struct Layer {
    pub(crate) name: Cow<'static, str>,
    pub(crate) type_name: Cow<'static, str>,
    /// The type of a V1 layer.
    number: Option<i32>,
    version: Version,
    pub(crate) blobs: Vec<Blob>,
    /// Whether the layer is an `InnerProduct` whose weights are stored with their axes swapped.
    pub(crate) is_transposed: bool,
    /// Number of inputs that the file names.
    pub(crate) bottoms: u32,
    /// Boxed, because few layers have texts.
    pub(crate) texts: Option<Box<[Texts; 1]>>,
}

/// Caffe2's tensor of texts.
#[derive(Clone, Debug)]
pub struct Texts {
    pub(crate) shape: Vec<i64>,
    pub(crate) ranges: Vec<Range<u64>>,
}

impl Texts {
    /// The dimensions.
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// Number of texts.
    pub fn count(&self) -> usize {
        self.ranges.len()
    }

    /// Bytes of all texts.
    pub fn bytes(&self) -> u64 {
        self.ranges.iter().map(|range| range.end - range.start).sum()
    }
}

impl Layer {
    /// The name, which another layer may have too. Caffe's names are bytes, often of another encoding than UTF-8: bytes that are no
    /// UTF-8, NULs, and each `%` before two hexadecimal digits are percent-encoded, as `%BE`. Names that differ stay different, and
    /// percent-decoding restores their bytes.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type, by the name that Caffe has used since 2015; `#57` for a number without a name; may be empty.
    pub fn type_name(&self) -> &str {
        &self.type_name
    }

    /// The generation of `caffe.proto`.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The blobs, weights before biases.
    pub fn blobs(&self) -> &[Blob] {
        &self.blobs
    }

    /// A tensor of texts, which [`Model::text`](crate::Model::text) reads.
    pub fn texts(&self) -> Option<&Texts> {
        self.texts.as_deref()?.first()
    }

    /// A blob's shape without the leading ones of legacy dimensions: weights of an `InnerProduct` keep the last two,
    /// its biases and those of convolutions the last. `None` if there is no such blob.
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

    pub(crate) fn of_blobs(name: &'static str, blobs: Vec<Blob>) -> Self {
        Self { blobs, ..Self::of_operator(Cow::Borrowed(name), String::new()) }
    }

    pub(crate) fn of_operator(name: Cow<'static, str>, type_name: String) -> Self {
        let (type_name, version) = (Cow::Owned(type_name), Version::V2);
        let blobs = Vec::new();
        Self { name, type_name, number: None, version, blobs, is_transposed: false, bottoms: 0, texts: None }
    }
}

/// The net's name and layers.
pub(crate) fn scan(scanner: &mut Scanner, end: u64) -> Result<(String, Vec<Layer>), Error> {
    let (mut name, mut layers) = (String::new(), Vec::new());
    while let Some(field) = scanner.field(end)? {
        let version = match (field.number, field.wire) {
            (1, Wire::Bytes) => {
                name = scanner.text(end)?;
                continue;
            }
            (2, Wire::Bytes) => Version::V1,
            (100, Wire::Bytes) => Version::V2,
            _ => {
                scanner.skip(field, end)?;
                continue;
            }
        };
        let index = layers.len();
        scanner.reserve_one(&mut layers)?;
        let (span, cut) = scanner.bytes_or_rest(end).map_err(|error| error.in_layer(index, ""))?;
        if let Some(error) = cut {
            return Err(error.in_layer(index, &name_of_rest(scanner, span, version)));
        }
        layers.extend(layer(scanner, span, version, index)?);
    }
    // The numbers of types are C3D's if any blob is C3D's.
    let is_c3d = layers.iter().flat_map(|layer| &layer.blobs).any(|blob| blob.dialect() == Dialect::C3d);
    for layer in &mut layers {
        if let Some(number) = layer.number {
            layer.type_name = upgrade::numbered(number, is_c3d)?;
        }
    }
    Ok((name, layers))
}

#[derive(Default)]
struct Draft {
    name: String,
    kind: String,
    number: Option<i32>,
    blobs: Vec<Blob>,
    is_transposed: bool,
    bottoms: u32,
}

struct Numbers {
    name: u32,
    kind: (u32, Wire),
    blobs: u32,
    /// 0, which no field has, where a layer of the generation lacks it.
    bottom: u32,
    inner_product: u32,
}

const V0: Numbers = Numbers { name: 1, kind: (2, Wire::Bytes), blobs: 50, bottom: 0, inner_product: 0 };
const V1: Numbers = Numbers { name: 4, kind: (5, Wire::Varint), blobs: 6, bottom: 2, inner_product: 17 };
const V2: Numbers = Numbers { name: 1, kind: (2, Wire::Bytes), blobs: 7, bottom: 3, inner_product: 117 };

/// `transpose` of an `inner_product_param`.
const TRANSPOSE: u32 = 6;

impl Draft {
    fn take(&mut self, scanner: &mut Scanner, field: Field, end: u64, numbers: &Numbers) -> Result<(), Error> {
        match field.wire {
            Wire::Bytes if field.number == numbers.name => self.name = scanner.text(end)?,
            Wire::Varint if (field.number, field.wire) == numbers.kind => {
                self.number = Some(scanner.varint(end)? as i32);
            }
            Wire::Bytes if (field.number, field.wire) == numbers.kind => self.kind = scanner.text(end)?,
            Wire::Bytes if field.number == numbers.blobs => blob::add(scanner, end, &mut self.blobs)?,
            Wire::Bytes if field.number == numbers.inner_product => {
                let range = scanner.bytes(end)?;
                scanner.position = range.start;
                while let Some(field) = scanner.field(range.end)? {
                    match (field.number, field.wire) {
                        (TRANSPOSE, Wire::Varint) => self.is_transposed = scanner.varint(range.end)? != 0,
                        _ => scanner.skip(field, range.end)?,
                    }
                }
            }
            Wire::Bytes if field.number == numbers.bottom => {
                self.bottoms = self.bottoms.saturating_add(1);
                scanner.skip(field, end)?;
            }
            _ => scanner.skip(field, end)?,
        }
        Ok(())
    }
}

/// Scans a layer; `None` if upgrading takes it out of the net.
fn layer(scanner: &mut Scanner, span: Range<u64>, version: Version, index: usize) -> Result<Option<Layer>, Error> {
    let (mut draft, mut inner) = (Draft::default(), None);
    scanner.position = span.start;
    if let Err(error) = fields(scanner, &span, version, &mut draft, &mut inner) {
        return Err(error.in_layer(index, &inner.unwrap_or(draft).name));
    }
    // A V0 layer is the inner message of a V1 layer.
    let (version, Draft { name, kind, number, blobs, is_transposed, bottoms }) = match inner {
        Some(inner) => (Version::V0, inner),
        None => (version, draft),
    };
    // Compat: Caffe moves the padding into the next layer.
    if version == Version::V0 && blobs.is_empty() && kind == "padding" {
        return Ok(None);
    }
    let type_name = if version == Version::V0 { upgrade::from_v0(kind) } else { Cow::Owned(kind) };
    let name = Cow::Owned(name);
    Ok(Some(Layer { name, type_name, number, version, blobs, is_transposed, bottoms, texts: None }))
}

/// The name of a layer that is cut off after its name.
fn name_of_rest(scanner: &mut Scanner, rest: Range<u64>, version: Version) -> String {
    let (mut draft, mut inner) = (Draft::default(), None);
    scanner.position = rest.start;
    // The caller reports that the layer is cut off.
    let _ = fields(scanner, &rest, version, &mut draft, &mut inner);
    inner.unwrap_or(draft).name
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
                let inner = inner.get_or_insert_with(Draft::default);
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
