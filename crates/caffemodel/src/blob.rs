//! Blobs: shapes, and the places of values in the file.

use std::ops::Range;

use crate::allocate;
use crate::chunks::{Chunks, Run};
use crate::element::Element;
use crate::error::Error;
use crate::problem::{MOST_AXES, Problem, Unknown};
use crate::varints::Varints;
use crate::wire::{Field, Scanner, Wire};

/// The Caffe whose message a blob is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// BVLC's, which most forks share.
    Bvlc,
    /// NVIDIA's Caffe 0.16 and later: values as bytes beside their type.
    Nvidia,
    /// C3D 1.0: five legacy dimensions.
    C3d,
    /// Caffe2: a tensor.
    Caffe2,
}

/// The data or the diff of a blob.
#[derive(Clone, Debug)]
pub struct Array {
    pub(crate) element: Element,
    pub(crate) stored: Stored,
}

/// How the file stores the values.
#[derive(Clone, Debug)]
pub(crate) enum Stored {
    /// The bytes of the values.
    Runs(Chunks),
    /// Doubles, stored as floats.
    Floats(Chunks),
    /// Integers, stored as varints.
    Varints(Box<[Varints; 1]>),
    /// One value that repeats.
    Constant { value: [u8; 8], count: u64 },
}

impl Array {
    pub(crate) fn of(element: Element, stored: Stored) -> Self {
        Self { element, stored }
    }

    pub(crate) fn none() -> Self {
        Self::of(Element::F32, Stored::Runs(Chunks::default()))
    }

    /// The type in which the values are stored.
    pub fn element(&self) -> Element {
        self.element
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        match &self.stored {
            Stored::Runs(chunks) | Stored::Floats(chunks) => chunks.count(),
            Stored::Varints(varints) => varints[0].count(),
            Stored::Constant { count, .. } => *count,
        }
    }

    /// Bytes of the values: at most those of the file, or 2 GiB for one value that repeats.
    pub fn bytes(&self) -> u64 {
        self.count() * self.element.size() as u64
    }
}

/// A blob of the file.
#[derive(Clone, Debug)]
pub struct Blob {
    shape: Vec<i64>,
    is_legacy: bool,
    dialect: Dialect,
    data: Array,
    diff: Option<Array>,
    /// Offset of its message in the file, after tag and length.
    at: u64,
    problem: Option<Problem>,
}

impl Blob {
    /// The stored dimensions; empty for a single value.
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// Whether the shape is stored as `num`, `channels`, `height` and `width`, with 1 for axes that the net lacks.
    pub fn is_legacy(&self) -> bool {
        self.is_legacy
    }

    /// The Caffe whose message it is.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The values. [`Model::array`](crate::Model::array) checks their count.
    pub fn data(&self) -> &Array {
        &self.data
    }

    /// The gradients, if they are stored.
    pub fn diff(&self) -> Option<&Array> {
        self.diff.as_ref()
    }

    pub(crate) fn of_tensor(shape: Vec<i64>, axes: u64, data: Array, at: u64, problem: Option<Problem>) -> Self {
        Self { at, ..fitted(shape, axes, false, Dialect::Caffe2, data, None, problem) }
    }

    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    pub(crate) fn problem(&self) -> Option<&Problem> {
        self.problem.as_ref()
    }
}

/// The fields of a message, before its dialect is known.
#[derive(Default)]
struct Parts {
    /// Fields 1 to 5, as numbers.
    dims: [Option<i64>; 5],
    shape: Vec<i64>,
    axes: u64,
    five: Chunks,
    six: Chunks,
    /// Occurrences of field 7: the shape, or C3D's diff.
    seven: Vec<Range<u64>>,
    double_data: Chunks,
    double_diff: Chunks,
    raw_types: [Option<u64>; 2],
    raw: [Option<Range<u64>>; 2],
    unknown: Unknown,
}

pub(crate) fn scan(scanner: &mut Scanner, span: Range<u64>) -> Result<Blob, Error> {
    let mut parts = Parts::default();
    scanner.position = span.start;
    while let Some(field) = scanner.field(span.end)? {
        parts.take(scanner, field, span.end)?;
    }
    let blob = if parts.dims[4].is_some() { parts.c3d(scanner)? } else { parts.bvlc(scanner)? };
    scanner.position = span.end;
    Ok(Blob { at: span.start, ..blob })
}

/// Scans the blob at the scanner's position, and adds it to `blobs`.
pub(crate) fn add(scanner: &mut Scanner, end: u64, blobs: &mut Vec<Blob>) -> Result<(), Error> {
    let index = blobs.len();
    scanner.reserve_one(blobs)?;
    let blob = scanner.bytes(end).and_then(|span| scan(scanner, span));
    blobs.push(blob.map_err(|error| error.in_blob(index))?);
    Ok(())
}

impl Parts {
    fn take(&mut self, scanner: &mut Scanner, field: Field, end: u64) -> Result<(), Error> {
        match (field.number, field.wire) {
            // Compat: protobuf keeps the low 32 bits of a number that is too large for its type.
            (1..=5, Wire::Varint) => {
                self.dims[field.number as usize - 1] = Some(i64::from(scanner.varint(end)? as i32));
            }
            (5, wire) if is_list(wire, Element::F32) => list(scanner, field, end, Element::F32, &mut self.five)?,
            (6, wire) if is_list(wire, Element::F32) => list(scanner, field, end, Element::F32, &mut self.six)?,
            (7, Wire::Bytes) => {
                scanner.reserve_one(&mut self.seven)?;
                self.seven.push(scanner.bytes(end)?);
            }
            (8, wire) if is_list(wire, Element::F64) => list(scanner, field, end, Element::F64, &mut self.double_data)?,
            (9, wire) if is_list(wire, Element::F64) => list(scanner, field, end, Element::F64, &mut self.double_diff)?,
            (10 | 11, Wire::Varint) => self.raw_types[field.number as usize - 10] = Some(scanner.varint(end)?),
            (12 | 13, Wire::Bytes) => self.raw[field.number as usize - 12] = Some(scanner.bytes(end)?),
            _ => {
                self.unknown.add(field.number);
                scanner.skip(field, end)?;
            }
        }
        Ok(())
    }

    fn bvlc(mut self, scanner: &mut Scanner) -> Result<Blob, Error> {
        for range in std::mem::take(&mut self.seven) {
            self.take_shape(scanner, range)?;
        }
        // Compat: Caffe ignores the shape if there is one legacy dimension.
        let is_legacy = self.dims.iter().any(Option::is_some);
        if is_legacy {
            self.axes = 4;
            self.shape = allocate::copy(&self.dims.map(Option::unwrap_or_default)[..4])?;
        }
        let Self { shape, axes, five, six, double_data, double_diff, raw_types, raw, mut unknown, .. } = self;
        let dialect = if raw.iter().any(Option::is_some) { Dialect::Nvidia } else { Dialect::Bvlc };
        let mut problem = None;
        let [raw_data, raw_diff] = raw;
        let mut array = |part, doubles, floats, raw: Option<Range<u64>>, raw_type| -> Result<Array, Error> {
            Ok(match (stored(doubles, floats), raw) {
                (Some(array), _) => array,
                (None, Some(range)) => raw_array(part, range, raw_type)?.unwrap_or_else(|found| {
                    problem.get_or_insert(found);
                    Array::none()
                }),
                (None, None) => Array::none(),
            })
        };
        let data = array("data", double_data, five, raw_data, raw_types[0])?;
        let diff = Some(array("diff", double_diff, six, raw_diff, raw_types[1])?).filter(|diff| diff.count() > 0);
        let mut blob = fitted(shape, axes, is_legacy, dialect, data, diff, problem);
        let fork = match blob.problem {
            Some(Problem::Count { part, found, needed }) if found < needed && !unknown.is_empty() => {
                // Fields 10 and 11 are the fork's too, unless NVIDIA's bytes are there.
                let own = (10..).zip(raw_types).filter(|(_, number)| dialect == Dialect::Bvlc && number.is_some());
                own.for_each(|(field, _)| unknown.add(field));
                Some(Problem::Fork { part, found, needed, fields: unknown })
            }
            _ => None,
        };
        blob.problem = fork.or(blob.problem);
        Ok(blob)
    }

    fn c3d(self, scanner: &mut Scanner) -> Result<Blob, Error> {
        let mut diff = Chunks::default();
        for range in self.seven {
            packed(scanner, range, Element::F32, &mut diff)?;
        }
        let shape = allocate::copy(&self.dims.map(Option::unwrap_or_default))?;
        let floats = |chunks| Array::of(Element::F32, Stored::Runs(chunks));
        let diff = Some(floats(diff)).filter(|diff| diff.count() > 0);
        Ok(fitted(shape, 5, true, Dialect::C3d, floats(self.six), diff, None))
    }

    fn take_shape(&mut self, scanner: &mut Scanner, range: Range<u64>) -> Result<(), Error> {
        scanner.position = range.start;
        while let Some(field) = scanner.field(range.end)? {
            match (field.number, field.wire) {
                (1, Wire::Varint) => self.take_dim(scanner, range.end)?,
                (1, Wire::Bytes) => {
                    let packed = scanner.bytes(range.end)?;
                    scanner.position = packed.start;
                    while scanner.position < packed.end {
                        self.take_dim(scanner, packed.end)?;
                    }
                }
                _ => scanner.skip(field, range.end)?,
            }
        }
        Ok(())
    }

    fn take_dim(&mut self, scanner: &mut Scanner, end: u64) -> Result<(), Error> {
        let dim = scanner.varint(end)? as i64;
        self.axes += 1;
        // A shape with more axes is refused by `count`.
        if self.shape.len() < MOST_AXES {
            scanner.reserve_one(&mut self.shape)?;
            self.shape.push(dim);
        }
        Ok(())
    }
}

pub(crate) fn is_list(wire: Wire, element: Element) -> bool {
    wire == Wire::Bytes || wire == if element == Element::F64 { Wire::Fixed64 } else { Wire::Fixed32 }
}

/// Adds the values of a field: a packed list, or one value with its tag, and those that follow it alike.
pub(crate) fn list(
    scanner: &mut Scanner,
    field: Field,
    end: u64,
    element: Element,
    into: &mut Chunks,
) -> Result<(), Error> {
    if field.wire == Wire::Bytes {
        let range = scanner.bytes(end)?;
        return packed(scanner, range, element, into);
    }
    let at = scanner.position;
    scanner.skip(field, end)?;
    let step = scanner.position - field.at;
    let count = 1 + scanner.skip_alike(field, element.size() as u64, end)?;
    push(scanner, Run { at, count, step }, into)
}

fn packed(scanner: &mut Scanner, range: Range<u64>, element: Element, into: &mut Chunks) -> Result<(), Error> {
    let (bytes, size) = (range.end - range.start, element.size() as u64);
    if bytes % size != 0 {
        return Err(
            scanner.format(format_args!("a list of {bytes} bytes cannot hold values of {size} bytes"), range.start)
        );
    }
    push(scanner, Run { at: range.start, count: bytes / size, step: size }, into)
}

fn push(scanner: &mut Scanner, run: Run, into: &mut Chunks) -> Result<(), Error> {
    if !into.continues(run) {
        scanner.charge::<Run>(1)?;
    }
    into.push(run)
}

fn stored(doubles: Chunks, floats: Chunks) -> Option<Array> {
    [(Element::F64, doubles), (Element::F32, floats)]
        .into_iter()
        .find(|(_, chunks)| chunks.count() > 0)
        .map(|(element, chunks)| Array::of(element, Stored::Runs(chunks)))
}

fn raw_array(part: &'static str, range: Range<u64>, number: Option<u64>) -> Result<Result<Array, Problem>, Error> {
    let element = match number {
        Some(0) => Element::F64,
        Some(1) => Element::F32,
        Some(2) => Element::F16,
        _ => return Ok(Err(Problem::RawType { part, number })),
    };
    let (bytes, size) = (range.end - range.start, element.size() as u64);
    if bytes % size != 0 {
        return Ok(Err(Problem::RawCut { part, bytes, size }));
    }
    let chunks = Chunks::of(Run { at: range.start, count: bytes / size, step: size })?;
    Ok(Ok(Array::of(element, Stored::Runs(chunks))))
}

/// The blob, with a problem if its values do not fit the shape.
fn fitted(
    shape: Vec<i64>,
    axes: u64,
    is_legacy: bool,
    dialect: Dialect,
    data: Array,
    diff: Option<Array>,
    problem: Option<Problem>,
) -> Blob {
    let problem = problem.or_else(|| {
        let needed = match count(&shape, axes) {
            Ok(needed) => needed,
            Err(problem) => return Some(problem),
        };
        let parts = [("data", Some(&data)), ("diff", diff.as_ref())];
        parts.into_iter().find_map(|(part, array)| {
            let found = array?.count();
            (found != needed).then_some(Problem::Count { part, found, needed })
        })
    });
    Blob { shape, is_legacy, dialect, data, diff, at: 0, problem }
}

/// The number of values of a shape.
pub(crate) fn count(shape: &[i64], axes: u64) -> Result<u64, Problem> {
    if axes > MOST_AXES as u64 {
        return Err(Problem::Axes(axes));
    }
    if let Some((axis, dim)) = shape.iter().copied().enumerate().find(|(_, dim)| *dim < 0) {
        return Err(Problem::Negative { axis, dim });
    }
    if shape.contains(&0) {
        return Ok(0);
    }
    let product = shape.iter().try_fold(1u64, |product, dim| product.checked_mul(dim.unsigned_abs()));
    product.ok_or(Problem::TooLarge)
}
