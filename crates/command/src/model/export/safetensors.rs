//! safetensors: the length of a JSON header in 8 bytes, the header, and the values one behind the other.

use std::cmp::Reverse;
use std::io::Write;

use caffemodel::{Element, Model, NewFile};
use indicatif::ProgressBar;
use serde_json::{Map, Value, json};

use super::{Failed, Tensor, copy};

/// Readers take the values to be aligned as far as the header is.
const ALIGNMENT: usize = 8;

pub fn write(model: &Model, mut tensors: Vec<Tensor>, file: &mut NewFile, bar: &ProgressBar) -> Result<(), Failed> {
    // Large values first: each array then begins at a multiple of the size of its values.
    tensors.sort_by_key(|tensor| Reverse(tensor.element.size()));
    let header = header(&tensors);
    file.write_all(&(header.len() as u64).to_le_bytes())?;
    file.write_all(&header)?;
    tensors.iter().try_for_each(|tensor| copy(model, tensor, file, bar))
}

fn header(tensors: &[Tensor]) -> Vec<u8> {
    let mut begin = 0;
    let entries = tensors.iter().map(|tensor| {
        let end = begin + tensor.bytes;
        let dtype = match tensor.element {
            Element::F64 => "F64",
            Element::F32 => "F32",
            Element::F16 => "F16",
            Element::I64 => "I64",
            Element::I32 => "I32",
            Element::I16 => "I16",
            Element::I8 => "I8",
            Element::U16 => "U16",
            Element::U8 => "U8",
            Element::Bool => "BOOL",
        };
        let about = json!({"dtype": dtype, "shape": tensor.shape, "data_offsets": [begin, end]});
        begin = end;
        (tensor.name.clone(), about)
    });
    let mut header = Value::Object(entries.collect::<Map<_, _>>()).to_string().into_bytes();
    header.resize(header.len().next_multiple_of(ALIGNMENT), b' ');
    header
}
