//! safetensors: the length of a JSON header in 8 bytes, the header, and the values.

use std::cmp::Reverse;
use std::io::Write;

use caffemodel::Model;
use indicatif::ProgressBar;
use serde_json::{Map, Value, json};
use syncedmem_core::new_file::NewFile;

use super::{Failed, Tensor, copy};
use crate::model::types;

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
        let dtype = types::safetensors(tensor.element);
        let about = json!({"dtype": dtype, "shape": tensor.shape, "data_offsets": [begin, end]});
        begin = end;
        (tensor.name.clone(), about)
    });
    let mut header = Value::Object(entries.collect::<Map<_, _>>()).to_string().into_bytes();
    header.resize(header.len().next_multiple_of(ALIGNMENT), b' ');
    header
}
