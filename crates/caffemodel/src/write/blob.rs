//! A blob's message with other values or another shape. Other fields stay in place.

use std::fmt::Display;

use super::encode;
use super::plan::{Parts, Piece};
use super::values::Values;
use crate::blob::{Array, Blob, Dialect, count, is_list};
use crate::element::Element;
use crate::error::Error;
use crate::model::{At, Model, Part};
use crate::problem::Problem;
use crate::wire::{Field, Scanner, Wire};

#[derive(Debug, Default)]
pub(crate) struct Change<'v> {
    pub shape: Option<Vec<i64>>,
    pub data: NewArray<'v>,
    pub diff: NewArray<'v>,
}

#[derive(Debug, Default)]
pub(crate) enum NewArray<'v> {
    #[default]
    Kept,
    Removed,
    Replaced(Values<'v>),
}

/// New fields, for the place of the first that they replace. `None`: those stay.
type Slot<'v> = Option<Vec<Piece<'v>>>;

enum Role {
    Shape,
    Data,
    Diff,
    /// Of NVIDIA's bytes.
    DataType,
    DiffType,
    Other,
}

fn role(dialect: Dialect, field: Field) -> Role {
    let is_list = |element| is_list(field.wire, element);
    match (dialect, field.number, field.wire) {
        (Dialect::C3d, 1..=5, Wire::Varint) => Role::Shape,
        (Dialect::C3d, 6, _) if is_list(Element::F32) => Role::Data,
        (Dialect::C3d, 7, Wire::Bytes) => Role::Diff,
        (Dialect::C3d | Dialect::Caffe2, ..) => Role::Other,
        (_, 1..=4, Wire::Varint) | (_, 7, Wire::Bytes) => Role::Shape,
        (_, 5, _) if is_list(Element::F32) => Role::Data,
        (_, 6, _) if is_list(Element::F32) => Role::Diff,
        (_, 8, _) if is_list(Element::F64) => Role::Data,
        (_, 9, _) if is_list(Element::F64) => Role::Diff,
        (_, 10, Wire::Varint) => Role::DataType,
        (_, 11, Wire::Varint) => Role::DiffType,
        (_, 12, Wire::Bytes) => Role::Data,
        (_, 13, Wire::Bytes) => Role::Diff,
        _ => Role::Other,
    }
}

pub(crate) fn changed<'v>(
    model: &'v Model,
    scanner: &mut Scanner,
    at: At,
    change: Change<'v>,
) -> Result<Parts<'v>, Error> {
    let blob = model.blob(at)?;
    let target = Target { model, blob, at };
    target.check_counts(&change)?;
    let mut shape = change.shape.map(|dims| target.shape(&dims)).transpose()?;
    let (mut data, data_type_stays) = target.array(Part::Data, change.data)?;
    let (mut diff, diff_type_stays) = target.array(Part::Diff, change.diff)?;

    let mut parts = Parts::default();
    let span = blob.span();
    scanner.position = span.start;
    while let Some(field) = scanner.field(span.end)? {
        scanner.skip(field, span.end)?;
        let (slot, stays) = match role(blob.dialect(), field) {
            Role::Shape => (&mut shape, false),
            Role::Data => (&mut data, false),
            Role::Diff => (&mut diff, false),
            Role::DataType => (&mut data, data_type_stays),
            Role::DiffType => (&mut diff, diff_type_stays),
            Role::Other => (&mut None, true),
        };
        match slot {
            Some(pieces) if !stays => pieces.drain(..).for_each(|piece| parts.push(piece)),
            _ => {
                if !parts.continues(field.at) {
                    scanner.charge::<Piece>(1)?;
                }
                parts.push(Piece::Copy(&model.source, field.at..scanner.position));
            }
        }
    }
    [data, diff, shape].into_iter().flatten().flatten().for_each(|piece| parts.push(piece));
    Ok(parts)
}

const OTHER_PART: &str = "replace them too; a diff can also be removed";

struct Target<'v> {
    model: &'v Model,
    blob: &'v Blob,
    at: At,
}

impl<'v> Target<'v> {
    fn refuse<T>(&self, what: impl Display, advice: &'static str) -> Result<T, Error> {
        Err(self.model.refuse(self.at, what, advice))
    }

    fn check_counts(&self, change: &Change) -> Result<(), Error> {
        let shape = change.shape.as_deref().unwrap_or(self.blob.shape());
        let needed = match count(shape, shape.len() as u64) {
            Ok(needed) => needed,
            Err(problem) => return self.refuse(problem.in_words(shape), "give it another shape"),
        };
        let parts = [("data", &change.data, Some(self.blob.data())), ("diff", &change.diff, self.blob.diff())];
        for (part, new, stored) in parts {
            let (found, advice) = match (new, stored) {
                // The blob could not be read.
                (NewArray::Kept, _) if self.blob.has_unread(part) => {
                    return self.refuse(format!("its {part} is stored as bytes that are not read"), OTHER_PART);
                }
                (NewArray::Replaced(values), _) => (values.count, "give as many values as the shape has"),
                (NewArray::Kept, Some(stored)) => (stored.count(), OTHER_PART),
                _ => continue,
            };
            if found != needed {
                return self.refuse(Problem::Count { part, found, needed }.in_words(shape), advice);
            }
        }
        Ok(())
    }

    /// Legacy dimensions if they were stored and suffice.
    fn shape(&self, dims: &[i64]) -> Result<Vec<Piece<'v>>, Error> {
        let is_c3d = self.blob.dialect() == Dialect::C3d;
        let fits = dims.len() == if is_c3d { 5 } else { 4 } && dims.iter().all(|dim| i32::try_from(*dim).is_ok());
        let fields = match (self.blob.is_legacy() && fits, is_c3d) {
            (true, _) => (1..).zip(dims).flat_map(|(index, dim)| encode::number(index, *dim as u64)).collect(),
            (false, false) => encode::shape(dims),
            (false, true) => {
                return self.refuse(
                    format!("a blob of C3D has five dimensions, and {} were given", dims.len()),
                    "add ones in front",
                );
            }
        };
        Ok(vec![Piece::Bytes(fields)])
    }

    /// Also whether the type of NVIDIA's bytes stays.
    fn array(&self, part: Part, new: NewArray<'v>) -> Result<(Slot<'v>, bool), Error> {
        let values = match new {
            NewArray::Kept => return Ok((None, true)),
            NewArray::Removed => return Ok((Some(Vec::new()), false)),
            NewArray::Replaced(values) => values,
        };
        let at = At { part, ..self.at };
        let stored = match part {
            Part::Data => Some(self.blob.data()),
            Part::Diff => self.blob.diff(),
        };
        let stored = stored.filter(|array| array.count() > 0);
        let usual = || if values.element == Element::F64 { Element::F64 } else { Element::F32 };
        let element = values.wanted.or(stored.map(Array::element)).unwrap_or_else(usual);
        if !values.element.is_exact_as(element) {
            let what = format!("{} values are to be stored as {element}, which is not exact", values.element);
            return self.refuse(what, "convert them before, or ask for their own type (stored_as)");
        }
        let stays_raw = stored.is_some_and(|array| array.is_raw && array.element() == element);
        let number = match (self.blob.dialect(), element, part) {
            (_, _, Part::Data) if stays_raw => 12,
            (_, _, Part::Diff) if stays_raw => 13,
            (Dialect::C3d, Element::F32, Part::Data) => 6,
            (Dialect::C3d, Element::F32, Part::Diff) => 7,
            (Dialect::Bvlc | Dialect::Nvidia, Element::F32, Part::Data) => 5,
            (Dialect::Bvlc | Dialect::Nvidia, Element::F32, Part::Diff) => 6,
            (Dialect::Bvlc | Dialect::Nvidia, Element::F64, Part::Data) => 8,
            (Dialect::Bvlc | Dialect::Nvidia, Element::F64, Part::Diff) => 9,
            _ => return self.refuse(format!("{element} cannot be stored in this blob"), "give them as float32"),
        };
        let Some(bytes) = values.count.checked_mul(element.size() as u64).filter(|bytes| i64::try_from(*bytes).is_ok())
        else {
            return self.refuse("has more values than a file can hold", "give fewer");
        };
        let head = Piece::Bytes(encode::head(number, bytes));
        let place = (at.layer, self.model.layers()[at.layer].name(), at.blob);
        Ok((Some(vec![head, Piece::Values(element, values, place)]), stays_raw))
    }
}
