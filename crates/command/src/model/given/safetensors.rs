//! The arrays of a safetensors file.

use std::fs::File;
use std::os::unix::fs::FileExt;

use serde::Deserialize;
use serde_json::Value;

use super::{Given, Stored, Type};
use crate::model::types;

/// The format's own package refuses longer ones too.
const LONGEST_HEADER: u64 = 100_000_000;

#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: [u64; 2],
}

pub fn list(file: &File) -> Result<Vec<Given>, String> {
    let damaged = |what: &str| format!("{what}; it is damaged or no safetensors file: export it again");
    let length = file.metadata().map_err(|error| damaged(&error.to_string()))?.len();
    let mut head = [0; 8];
    file.read_exact_at(&mut head, 0).map_err(|_| damaged("has no header"))?;
    let header_bytes = u64::from_le_bytes(head);
    if header_bytes > LONGEST_HEADER.min(length.saturating_sub(8)) {
        return Err(damaged(&format!("announces a header of {header_bytes} bytes in a file of {length}")));
    }
    let mut header = vec![0; header_bytes as usize];
    file.read_exact_at(&mut header, 8).map_err(|error| damaged(&error.to_string()))?;
    let header: serde_json::Map<String, Value> = serde_json::from_slice(&header)
        .map_err(|error| damaged(&format!("has a header that cannot be read ({error})")))?;
    let start = 8 + header_bytes;
    let entries = header.into_iter().filter(|(name, _)| name != "__metadata__");
    entries
        .map(|(name, entry)| {
            let entry: Entry = serde_json::from_value(entry)
                .map_err(|error| damaged(&format!("has an entry {name} that cannot be read ({error})")))?;
            let of = match types::named(&entry.dtype, types::safetensors) {
                Some(element) => Type::Of(element),
                None if entry.dtype == "BF16" => Type::Bfloat16,
                None => Type::Other(entry.dtype),
            };
            let [from, to] = entry.data_offsets;
            let bytes = to.checked_sub(from).filter(|_| to <= length - start);
            let stored = |bytes| Stored { at: start + from, bytes, is_deflated: false, checksum: None, header: 0 };
            let outside = || damaged(&format!("has an entry {name} that lies outside of the file"));
            let given = Given { of, shape: entry.shape, stored: stored(bytes.ok_or_else(outside)?), name };
            let needed = given.count().and_then(|count| count.checked_mul(given.of.size()));
            if given.of.size() > 0 && needed != Some(given.stored.bytes) {
                return Err(damaged(&format!("has an entry {} whose bytes do not fit its shape", given.name)));
            }
            Ok(given)
        })
        .collect()
}
