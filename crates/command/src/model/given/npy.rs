//! The header of a .npy file: a Python dictionary of the values' type, their order and their shape.

use std::io::Read;

use super::Type;
use crate::model::types;

#[derive(Debug, PartialEq, Eq)]
pub struct Header {
    pub of: Type,
    pub shape: Vec<u64>,
    /// Bytes before the first value.
    pub length: u64,
}

/// NumPy itself refuses longer ones, which only arrays of records have.
const LONGEST: usize = 10_000;

pub fn header(from: &mut impl Read) -> Result<Header, String> {
    let mut read = |length: usize| {
        let mut bytes = vec![0; length];
        from.read_exact(&mut bytes).map_err(|error| format!("cannot be read ({error})"))?;
        Ok::<_, String>(bytes)
    };
    let magic = read(8)?;
    let width = match &magic[..] {
        [0x93, b'N', b'U', b'M', b'P', b'Y', 1, 0] => 2,
        [0x93, b'N', b'U', b'M', b'P', b'Y', 2 | 3, 0] => 4,
        _ => return Err("is no .npy file".into()),
    };
    let length = read(width)?.iter().rev().fold(0, |length, byte| length << 8 | usize::from(*byte));
    if length > LONGEST {
        return Err(format!("has a header of {length} bytes"));
    }
    let text = String::from_utf8(read(length)?).map_err(|_| "has a header that is no text")?;
    let (of, shape) = dictionary(text.trim_end()).ok_or("has a header that cannot be read")??;
    Ok(Header { of, shape, length: (8 + width + length) as u64 })
}

/// Type and shape in `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`. `None`: it is written in another way.
fn dictionary(text: &str) -> Option<Result<(Type, Vec<u64>), String>> {
    let (mut of, mut is_fortran, mut shape) = (None, None, None);
    let mut rest = text.strip_prefix('{')?.trim_start();
    while !rest.starts_with('}') {
        let (key, behind) = quoted(rest)?;
        rest = behind.trim_start().strip_prefix(':')?.trim_start();
        match key {
            "descr" if rest.starts_with(['\'', '"']) => {
                let (descr, behind) = quoted(rest)?;
                let type_of = types::named(descr, types::numpy).map_or_else(|| Type::Other(descr.into()), Type::Of);
                (of, rest) = (Some(type_of), behind);
            }
            // A list of fields.
            "descr" => return Some(Err("is an array of records, which no model has".into())),
            "fortran_order" => {
                let value = [("False", false), ("True", true)].into_iter().find(|(word, _)| rest.starts_with(word))?;
                (is_fortran, rest) = (Some(value.1), &rest[value.0.len()..]);
            }
            "shape" => {
                let (dims, behind) = rest.strip_prefix('(')?.split_once(')')?;
                let dims = dims.split(',').map(str::trim).filter(|dim| !dim.is_empty());
                (shape, rest) = (Some(dims.map(|dim| dim.parse().ok()).collect::<Option<_>>()?), behind);
            }
            _ => return None,
        }
        rest = rest.trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    }
    if rest != "}" {
        return None;
    }
    if is_fortran? {
        return Some(Err("is stored column by column; save numpy.ascontiguousarray of it".into()));
    }
    Some(Ok((of?, shape?)))
}

fn quoted(text: &str) -> Option<(&str, &str)> {
    let mark = text.chars().next().filter(|mark| matches!(mark, '\'' | '"'))?;
    text[1..].split_once(mark)
}

#[cfg(test)]
mod tests {
    use caffemodel::Element;

    use super::*;

    fn of(text: &str) -> Result<Header, String> {
        let bytes = [b"\x93NUMPY\x01\x00", &(text.len() as u16).to_le_bytes()[..], text.as_bytes()].concat();
        header(&mut &bytes[..])
    }

    #[test]
    fn headers_are_read_whatever_their_order_and_spaces() {
        let expected = |shape: &[u64], length| Ok(Header { of: Type::Of(Element::F32), shape: shape.to_vec(), length });
        assert_eq!(of("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n"), expected(&[2, 3], 73));
        assert_eq!(of("{\"shape\":(5,),\"fortran_order\":False,\"descr\":\"<f4\"}"), expected(&[5], 60));
        assert_eq!(of("{'descr': '<f4', 'fortran_order': False, 'shape': ()}"), expected(&[], 63));
        assert_eq!(
            of("{'descr': '>f4', 'fortran_order': False, 'shape': ()}").map(|header| header.of),
            Ok(Type::Other(">f4".into()))
        );
    }

    #[test]
    fn headers_that_are_not_read_are_refused_with_the_reason() {
        let refused = |text: &str| of(text).unwrap_err();
        assert!(refused("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }").contains("column by column"));
        assert!(refused("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }").contains("records"));
        for text in [
            "",
            "{",
            "{}",
            "{'descr': '<f4'}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }",
            "{'x': 1}",
        ] {
            assert_eq!(refused(text), "has a header that cannot be read", "{text}");
        }
        assert_eq!(header(&mut &b"PK"[..]).unwrap_err(), "cannot be read (failed to fill whole buffer)");
        assert_eq!(header(&mut &b"\x93NUMPY\x09\x00"[..]).unwrap_err(), "is no .npy file");
    }
}
