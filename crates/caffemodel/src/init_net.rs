//! Caffe2's saved weights: operators that fill tensors with the values of their arguments.

use std::borrow::Cow;
use std::ops::Range;

use crate::allocate;
use crate::blob::{self, Array, Blob, Stored};
use crate::chunks::{Chunks, Run};
use crate::element::Element;
use crate::error::Error;
use crate::net::{Layer, Texts};
use crate::problem::{MOST_AXES, Problem};
use crate::varints::Varints;
use crate::wire::{Scanner, Wire};

/// The operators whose values are in the file.
const GIVEN: [(&str, Filled); 10] = [
    ("GivenTensorFill", Filled::Chosen),
    ("GivenTensorDoubleFill", Filled::Values(Element::F64)),
    ("GivenTensorBoolFill", Filled::Values(Element::Bool)),
    ("GivenTensorInt16Fill", Filled::Values(Element::I16)),
    ("GivenTensorIntFill", Filled::Values(Element::I32)),
    ("GivenTensorInt64Fill", Filled::Values(Element::I64)),
    ("GivenTensorStringFill", Filled::Texts),
    ("GivenTensorByteStringToUInt8Fill", Filled::Bytes),
    ("Int8GivenTensorFill", Filled::Quantized(Element::U8)),
    ("Int8GivenIntTensorFill", Filled::Quantized(Element::I32)),
];
const CONSTANT: &str = "ConstantFill";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Filled {
    /// The type of the argument `dtype`; floats without it.
    Chosen,
    Values(Element),
    Texts,
    /// The bytes of one text.
    Bytes,
    /// Bytes or integers, which stand for `scale * (value - zero_point)`.
    Quantized(Element),
}

/// Caffe2's numbers and names of types.
const TYPES: [(i64, &[u8], Filled); 10] = [
    (1, b"FLOAT", Filled::Values(Element::F32)),
    (2, b"INT32", Filled::Values(Element::I32)),
    (4, b"STRING", Filled::Texts),
    (5, b"BOOL", Filled::Values(Element::Bool)),
    (6, b"UINT8", Filled::Values(Element::U8)),
    (7, b"INT8", Filled::Values(Element::I8)),
    (8, b"UINT16", Filled::Values(Element::U16)),
    (9, b"INT16", Filled::Values(Element::I16)),
    (10, b"INT64", Filled::Values(Element::I64)),
    (13, b"DOUBLE", Filled::Values(Element::F64)),
];

/// Whether field 2 of a file is an operator rather than a V1 layer: field 5 of an operator is an argument, that of a layer a number.
/// `None` if it may be either.
pub(crate) fn is_operator(scanner: &mut Scanner, range: &Range<u64>) -> Result<Option<bool>, Error> {
    scanner.position = range.start;
    while let Some(field) = scanner.field(range.end)? {
        match (field.number, field.wire) {
            (5, Wire::Bytes) => return Ok(Some(true)),
            (5, Wire::Varint) => return Ok(Some(false)),
            _ => scanner.skip(field, range.end)?,
        }
    }
    Ok(None)
}

/// The net's name, and a layer for each output of an operator, with its tensor if the file has the values.
pub(crate) fn scan(scanner: &mut Scanner, end: u64) -> Result<(String, Vec<Layer>), Error> {
    let (mut name, mut layers) = (String::new(), Vec::new());
    while let Some(field) = scanner.field(end)? {
        match (field.number, field.wire) {
            (1, Wire::Bytes) => name = scanner.text(end)?,
            (2, Wire::Bytes) => {
                let index = layers.len();
                let operator = scanner.bytes(end).and_then(|range| operator(scanner, range, &mut layers));
                operator.map_err(|error| error.in_layer(index, ""))?;
            }
            _ => scanner.skip(field, end)?,
        }
    }
    Ok((name, layers))
}

#[derive(Default)]
struct Argument {
    float: Option<f32>,
    int: Option<i64>,
    text: Option<Range<u64>>,
    floats: Chunks,
    ints: Varints,
    /// The first `MOST_AXES` of `ints`: a shape has no more.
    dims: Vec<i64>,
    texts: Vec<Range<u64>>,
}

impl Argument {
    /// Returns the argument and its name, which may be at any place in the message.
    fn scan(scanner: &mut Scanner, range: Range<u64>) -> Result<(Option<Range<u64>>, Self), Error> {
        let (mut name, mut argument) = (None, Self::default());
        scanner.position = range.start;
        while let Some(field) = scanner.field(range.end)? {
            match (field.number, field.wire) {
                (1, Wire::Bytes) => name = Some(scanner.bytes(range.end)?),
                (2, Wire::Fixed32) => argument.float = Some(f32::from_bits(scanner.fixed32(range.end)?)),
                (3, Wire::Varint) => argument.int = Some(scanner.varint(range.end)? as i64),
                (4, Wire::Bytes) => argument.text = Some(scanner.bytes(range.end)?),
                (5, wire) if blob::is_list(wire, Element::F32) => {
                    blob::list(scanner, field, range.end, Element::F32, &mut argument.floats)?;
                }
                (6, Wire::Varint | Wire::Bytes) => {
                    let dims = &mut argument.dims;
                    argument.ints.take(scanner, field, range.end, |value| {
                        if dims.len() < MOST_AXES {
                            allocate::reserve_one(dims)?;
                            dims.push(value as i64);
                        }
                        Ok(())
                    })?;
                }
                (7, Wire::Bytes) => {
                    scanner.reserve_one(&mut argument.texts)?;
                    argument.texts.push(scanner.bytes(range.end)?);
                }
                _ => scanner.skip(field, range.end)?,
            }
        }
        Ok((name, argument))
    }
}

/// The arguments that describe a tensor.
#[derive(Default)]
struct Arguments {
    shape: Option<Argument>,
    values: Option<Argument>,
    value: Option<Argument>,
    dtype: Option<Argument>,
    scale: Option<Argument>,
    scales: Option<Argument>,
    zero_point: Option<Argument>,
    is_one_twice: bool,
}

impl Arguments {
    fn take(&mut self, scanner: &mut Scanner, range: Range<u64>) -> Result<(), Error> {
        let (name, argument) = Argument::scan(scanner, range)?;
        let mut buffer = [0; LONGEST_WORD];
        let slot = match scanner.word(name, &mut buffer)? {
            b"shape" => &mut self.shape,
            b"values" => &mut self.values,
            b"value" => &mut self.value,
            b"dtype" => &mut self.dtype,
            b"Y_scale" => &mut self.scale,
            b"Y_scales" => &mut self.scales,
            b"Y_zero_point" => &mut self.zero_point,
            _ => return Ok(()),
        };
        self.is_one_twice |= slot.replace(argument).is_some();
        Ok(())
    }

    /// The dimensions that were kept, and the number of all.
    fn shape(&mut self) -> (Vec<i64>, u64) {
        let shape = self.shape.take().unwrap_or_default();
        (shape.dims, shape.ints.count())
    }

    fn dtype(&self, scanner: &Scanner) -> Result<Option<Result<Filled, Problem>>, Error> {
        let Some(dtype) = &self.dtype else { return Ok(None) };
        let mut buffer = [0; LONGEST_WORD];
        let name = scanner.word(dtype.text.clone(), &mut buffer)?;
        let is_named = |(number, of, _): &&(i64, &[u8], Filled)| {
            if name.is_empty() { dtype.int == Some(*number) } else { of.eq_ignore_ascii_case(name) }
        };
        let found = TYPES.iter().find(is_named).map(|(.., filled)| *filled);
        Ok(Some(found.ok_or(Problem::Fill("has a dtype that is not read"))))
    }
}

/// The length of the longest name that is compared, or more.
const LONGEST_WORD: usize = 16;

enum Contents {
    Array(Array),
    Ints(Element, Varints),
    Bytes(Range<u64>),
    Texts(Vec<Range<u64>>),
}

/// Adds a layer for each output of an operator; the first one has the tensor.
fn operator(scanner: &mut Scanner, span: Range<u64>, layers: &mut Vec<Layer>) -> Result<(), Error> {
    let (mut names, mut type_name, mut has_input) = (Vec::new(), String::new(), false);
    let mut arguments = Arguments::default();
    scanner.position = span.start;
    while let Some(field) = scanner.field(span.end)? {
        match (field.number, field.wire) {
            (1, Wire::Bytes) => {
                has_input = true;
                scanner.skip(field, span.end)?;
            }
            (2, Wire::Bytes) => {
                scanner.reserve_one(&mut names)?;
                names.push(scanner.text(span.end)?);
            }
            (4, Wire::Bytes) => type_name = scanner.text(span.end)?,
            (5, Wire::Bytes) => {
                let range = scanner.bytes(span.end)?;
                arguments.take(scanner, range)?;
            }
            _ => scanner.skip(field, span.end)?,
        }
    }
    scanner.position = span.end;
    let mut names = names.into_iter();
    let first = Layer::of_operator(Cow::Owned(names.next().unwrap_or_default()), allocate::text(&type_name)?);
    let first = tensor(scanner, span.start, arguments, has_input, first)?;
    scanner.reserve_one(layers)?;
    layers.push(first);
    for name in names {
        scanner.charge::<u8>(type_name.len())?;
        scanner.reserve_one(layers)?;
        layers.push(Layer::of_operator(Cow::Owned(name), allocate::text(&type_name)?));
    }
    Ok(())
}

/// Adds the tensor that the arguments describe to the layer; `at` is the operator's offset.
fn tensor(
    scanner: &mut Scanner,
    at: u64,
    mut arguments: Arguments,
    has_input: bool,
    mut layer: Layer,
) -> Result<Layer, Error> {
    let is_constant = layer.type_name() == CONSTANT;
    let given = GIVEN.iter().find(|(name, _)| *name == layer.type_name()).map(|(_, filled)| *filled);
    // The file has no values of other operators, nor of a constant that takes its shape from another tensor.
    if given.is_none() && (!is_constant || has_input) {
        return Ok(layer);
    }
    let is_scalar = arguments.shape.as_ref().is_some_and(|shape| shape.int.is_some() && shape.ints.count() == 0);
    let dtype = arguments.dtype(scanner)?;
    let (shape, axes) = arguments.shape();
    let quantization = match given {
        Some(Filled::Quantized(_)) => Some(arguments.quantization()?),
        _ => None,
    };
    let contents = match given {
        _ if arguments.is_one_twice => Err(Problem::Fill("has an argument twice")),
        _ if is_scalar => Err(Problem::Fill("has a number in place of a shape")),
        _ if has_input => Err(Problem::Fill("takes its shape from another tensor")),
        Some(filled) => arguments.given(filled, dtype),
        None => arguments.constant(dtype, blob::count(&shape, axes)),
    };
    let (array, problem) = match contents {
        Ok(Contents::Array(array)) => (array, None),
        Ok(Contents::Ints(element, ints)) => (Array::of(element, Stored::Varints(allocate::boxed(ints)?)), None),
        Ok(Contents::Bytes(range)) => {
            let bytes = Run { at: range.start, count: range.end - range.start, step: 1 };
            (Array::of(Element::U8, Stored::Runs(Chunks::of(bytes)?)), None)
        }
        Ok(Contents::Texts(texts)) => match blob::count(&shape, axes) {
            Ok(needed) if needed == texts.len() as u64 => {
                layer.texts = Some(allocate::boxed(Texts { shape, ranges: texts })?);
                return Ok(layer);
            }
            Ok(needed) => {
                let found = texts.len() as u64;
                (Array::none(), Some(Problem::Count { part: "data", found, needed }))
            }
            Err(problem) => (Array::none(), Some(problem)),
        },
        Err(problem) => (Array::none(), Some(problem)),
    };
    scanner.reserve_one(&mut layer.blobs)?;
    layer.blobs.push(Blob::of_tensor(shape, axes, array, at, problem));
    for (array, shape) in quantization.into_iter().flatten() {
        scanner.reserve_one(&mut layer.blobs)?;
        let axes = shape.len() as u64;
        layer.blobs.push(Blob::of_tensor(shape, axes, array, at, None));
    }
    Ok(layer)
}

impl Arguments {
    /// The scale, or one for each channel, and the zero point, with their shapes.
    fn quantization(&mut self) -> Result<[(Array, Vec<i64>); 2], Error> {
        let one = |element, value| (Array::of(element, Stored::Constant { value, count: 1 }), Vec::new());
        let scales = self.scales.take().unwrap_or_default().floats;
        let scale = if scales.count() > 0 {
            // A scale has four bytes in the file, so the count fits an i64.
            let shape = allocate::copy(&[scales.count() as i64])?;
            (Array::of(Element::F32, Stored::Runs(scales)), shape)
        } else {
            let scale = self.scale.take().and_then(|scale| scale.float).unwrap_or(1.0);
            one(Element::F32, u64::from(scale.to_bits()).to_le_bytes())
        };
        let zero_point = self.zero_point.take().and_then(|point| point.int).unwrap_or(0);
        // Compat: Caffe2 keeps the low 32 bits of protobuf's 64.
        Ok([scale, one(Element::I32, i64::from(zero_point as i32).to_le_bytes())])
    }

    /// Values that are all in the file.
    fn given(self, filled: Filled, dtype: Option<Result<Filled, Problem>>) -> Result<Contents, Problem> {
        let filled = match (filled, dtype) {
            (Filled::Chosen, None) => Filled::Values(Element::F32),
            (Filled::Chosen, Some(dtype)) => dtype?,
            // Compat: Caffe2 ignores the dtype of other operators.
            (filled, _) => filled,
        };
        let Argument { floats, ints, texts, text, .. } = self.values.unwrap_or_default();
        let array = match filled {
            Filled::Quantized(Element::U8) => return Ok(Contents::Bytes(text.unwrap_or(0..0))),
            Filled::Quantized(element) => return Ok(Contents::Ints(element, ints)),
            Filled::Values(Element::F32) => Array::of(Element::F32, Stored::Runs(floats)),
            Filled::Values(Element::F64) => Array::of(Element::F64, Stored::Floats(floats)),
            Filled::Values(element) => return Ok(Contents::Ints(element, ints)),
            Filled::Texts => return Ok(Contents::Texts(texts)),
            _ => {
                let [text] = &texts[..] else { return Err(Problem::Fill("has not one text of bytes")) };
                return Ok(Contents::Bytes(text.clone()));
            }
        };
        Ok(Contents::Array(array))
    }

    /// One value for the whole tensor.
    fn constant(
        self,
        dtype: Option<Result<Filled, Problem>>,
        count: Result<u64, Problem>,
    ) -> Result<Contents, Problem> {
        let is_given = self.value.is_some();
        let Argument { float, int, .. } = self.value.unwrap_or_default();
        let element = match dtype {
            Some(Ok(Filled::Values(element))) => element,
            Some(Ok(_)) => return Err(Problem::Fill("repeats one text")),
            Some(Err(problem)) => return Err(problem),
            None if int.is_some() && float.is_none() => Element::I64,
            None => Element::F32,
        };
        let is_float = matches!(element, Element::F32 | Element::F64);
        if is_given && if is_float { float.is_none() } else { int.is_none() } {
            return Err(Problem::Fill("has a value of another type than its dtype"));
        }
        let count = count?;
        let value = match element {
            Element::F32 => Some(u64::from(float.unwrap_or(0.0).to_bits()).to_le_bytes()),
            Element::F64 => Some(f64::from(float.unwrap_or(0.0)).to_le_bytes()),
            element => element.of_int(int.unwrap_or(0)),
        };
        let value = value.ok_or(Problem::Fill("has a value that does not fit its dtype"))?;
        // A file of a few bytes could ask for any amount of memory.
        if count > MOST_CONSTANT_BYTES / element.size() as u64 {
            return Err(Problem::Fill("repeats one value for more than 2 GiB"));
        }
        Ok(Contents::Array(Array::of(element, Stored::Constant { value, count })))
    }
}

const MOST_CONSTANT_BYTES: u64 = i32::MAX as u64;
