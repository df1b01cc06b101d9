//! The arrays of a safetensors file.

use std::fmt;
use std::fs::File;
use std::io::BufReader;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{Given, PartOfFile, Stored, Type};
use crate::model::types;

/// The package of the format refuses longer headers too.
const LONGEST_HEADER: u64 = 100_000_000;

#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Box<[u64]>,
    data_offsets: [u64; 2],
}

pub fn list(file: &Arc<File>) -> Result<Vec<Given>, String> {
    let damaged = |what: &str| format!("{what}; it is damaged or no safetensors file: export it again");
    let length = file.metadata().map_err(|error| damaged(&error.to_string()))?.len();
    let mut head = [0; 8];
    file.read_exact_at(&mut head, 0).map_err(|_| damaged("has no header"))?;
    let header_bytes = u64::from_le_bytes(head);
    if header_bytes > LONGEST_HEADER.min(length.saturating_sub(8)) {
        return Err(damaged(&format!("announces a header of {header_bytes} bytes in a file of {length}")));
    }
    let header = BufReader::new(PartOfFile { file: Arc::clone(file), at: 8, left: header_bytes });
    let Header(mut given) = serde_json::from_reader(header)
        .map_err(|error| damaged(&format!("has a header that cannot be read ({error})")))?;
    let start = 8 + header_bytes;
    for Given { name, of, shape, stored } in &mut given {
        let [from, to] = [stored.at, stored.bytes];
        let bytes = to.checked_sub(from).filter(|_| to <= length - start);
        let outside = || damaged(&format!("has an entry {name} that lies outside of the file"));
        (stored.at, stored.bytes) = (start.saturating_add(from), bytes.ok_or_else(outside)?);
        let needed = super::count(shape).and_then(|count| count.checked_mul(of.size()));
        if of.size() > 0 && needed != Some(stored.bytes) {
            return Err(damaged(&format!("has an entry {name} whose bytes do not fit its shape")));
        }
    }
    let mut names: Vec<_> = given.iter().map(|given| &given.name).collect();
    names.sort_unstable();
    match names.windows(2).find(|names| names[0] == names[1]) {
        Some(twice) => Err(damaged(&format!("has two entries {}", twice[0]))),
        None => Ok(given),
    }
}

/// The arrays of a header. Until `list` has read them all, `stored` has the offsets of the first byte and after the last.
struct Header(Vec<Given>);

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(header: D) -> Result<Self, D::Error> {
        header.deserialize_map(Entries)
    }
}

struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = Header;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with an entry for each array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Header, A::Error> {
        let mut given = Vec::new();
        while let Some(name) = entries.next_key::<String>()? {
            if name == "__metadata__" {
                entries.next_value::<IgnoredAny>()?;
                continue;
            }
            let Entry { dtype, shape, data_offsets: [at, bytes] } =
                entries.next_value().map_err(|error| A::Error::custom(format_args!("entry {name}: {error}")))?;
            let of = match types::named(&dtype, types::safetensors) {
                Some(element) => Type::Of(element),
                None if dtype == "BF16" => Type::Bfloat16,
                None => Type::Other(dtype),
            };
            let stored = Stored { at, bytes, is_deflated: false, checksum: None, header: 0 };
            given.push(Given { name, of, shape, stored });
        }
        Ok(Header(given))
    }
}
