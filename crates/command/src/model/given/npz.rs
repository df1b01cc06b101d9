//! npz: a zip archive of one .npy file for each array. The header of a .npy file is a Python dictionary of the type of the
//! values, their order and their shape.

use std::fs::File;
use std::io::{BufReader, Read};
use std::sync::Arc;

use zip::{CompressionMethod, ZipArchive};

use super::{Given, Stored, Type};
use crate::model::types;

pub fn list(file: &Arc<File>) -> Result<Vec<Given>, String> {
    let damaged = |what: String| format!("{what}; it is damaged or no npz: save it again with numpy.savez");
    let archive = ZipArchive::new(BufReader::new(&**file));
    let mut archive = archive.map_err(|error| damaged(format!("is no archive that can be read ({error})")))?;
    (0..archive.len())
        .map(|index| {
            let entry = archive
                .by_index_raw(index)
                .map_err(|error| damaged(format!("has a file {index} that cannot be read ({error})")))?;
            let path = entry.name().to_string();
            let is_deflated = match entry.compression() {
                _ if entry.encrypted() => return Err(format!("has {path} encrypted; save it with numpy.savez")),
                CompressionMethod::Stored => false,
                CompressionMethod::DEFLATE => true,
                other => return Err(format!("has {path} compressed as {other}; save it with numpy.savez")),
            };
            let Some(name) = path.strip_suffix(".npy") else {
                return Err(format!("has a file {path}, which is no array; save it again with numpy.savez"));
            };
            let at = entry.data_start().ok_or_else(|| damaged(format!("has no place for {path}")))?;
            let checksum = Some((entry.crc32(), entry.size()));
            let mut stored = Stored { at, bytes: entry.compressed_size(), is_deflated, checksum, header: 0 };
            let header = header(&mut stored.read(file)).map_err(|what| damaged(format!("has {path}, which {what}")))?;
            stored.header = header.length;
            let given = Given { name: name.to_string(), of: header.of, shape: header.shape.into(), stored };
            let needed = given.count().and_then(|count| count.checked_mul(given.of.size())?.checked_add(header.length));
            if given.of.size() > 0 && needed != Some(entry.size()) {
                return Err(damaged(format!("has {path}, whose bytes do not fit its shape")));
            }
            Ok(given)
        })
        .collect()
}

#[derive(Debug, PartialEq, Eq)]
struct Header {
    of: Type,
    shape: Vec<u64>,
    /// Bytes before the first value.
    length: u64,
}

/// NumPy refuses longer headers too: only arrays of records have them.
const LONGEST: usize = 10_000;

fn header(from: &mut impl Read) -> Result<Header, String> {
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

/// Reads type and shape from `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`. `None`: the text has another form.
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
