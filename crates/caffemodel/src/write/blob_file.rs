use std::path::Path;

use super::output::Output;
use super::values::Values;
use crate::blob::count;
use crate::element::Element;
use crate::error::{Error, ErrorKind};
use crate::problem::Problem;

/// Writes a `.binaryproto` of one blob, with doubles if the values are doubles, else with floats.
///
/// # Errors
/// `Argument`: counts do not fit the shape, or values would be rounded. `Unsupported`: too large for Caffe. `Io`: reading or
/// writing failed.
#[inline(never)]
pub fn write_blob(path: &Path, dims: &[i64], data: Values, diff: Option<Values>) -> Result<(), Error> {
    let refuse = |what: String, advice| Err(Error::new(ErrorKind::Argument, path.display(), what, advice));
    let needed = match count(dims, dims.len() as u64) {
        Ok(needed) => needed,
        Err(problem) => return refuse(problem.in_words(dims).to_string(), "give it another shape"),
    };
    let shape = bytes(1, &dims.iter().flat_map(|dim| varint(*dim as u64)).collect::<Vec<_>>());
    // Protobuf writes no field for an empty list.
    let mut start = bytes(7, if dims.is_empty() { &[] } else { &shape });
    let mut arrays = Vec::new();
    for (part, number, values) in [Some(("data", 5, data)), diff.map(|diff| ("diff", 6, diff))].into_iter().flatten() {
        if values.count != needed {
            let problem = Problem::Count { part, found: values.count, needed };
            return refuse(problem.in_words(dims).to_string(), "give as many values as the shape has");
        }
        let (element, number) =
            if values.element == Element::F64 { (Element::F64, number + 3) } else { (Element::F32, number) };
        if !values.element.is_exact_as(element) {
            return refuse(format!("{} values cannot be stored in a blob", values.element), "give them as float32");
        }
        let length = needed.saturating_mul(element.size() as u64);
        start.extend(head(number, length));
        arrays.push((std::mem::take(&mut start), element, length, values));
    }
    let length = arrays.iter().map(|(head, _, length, _)| length.saturating_add(head.len() as u64));
    let progress = &mut |_| {};
    let mut file = Output::new(path, length.fold(0, u64::saturating_add), false, progress)?;
    for (head, element, length, mut values) in arrays {
        file.write(head.len() as u64, head.len() as u64, |into, _| {
            into.copy_from_slice(&head);
            Ok(())
        })?;
        file.write(length, element.size() as u64, |into, _| {
            values.read(element, into).map_err(|cause| Values::unread(path, cause))
        })?;
    }
    file.publish()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// Tag and length before the `length` bytes of a message or a packed list.
fn head(number: u64, length: u64) -> Vec<u8> {
    [varint(number << 3 | 2), varint(length)].concat()
}

fn bytes(number: u64, value: &[u8]) -> Vec<u8> {
    [&head(number, value.len() as u64), value].concat()
}
