//! npz: a zip archive of one .npy file for each array.

use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;

use zip::{CompressionMethod, ZipArchive};

use super::npy;
use super::{Given, Stored};

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
            let header =
                npy::header(&mut stored.read(file)).map_err(|what| damaged(format!("has {path}, which {what}")))?;
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
