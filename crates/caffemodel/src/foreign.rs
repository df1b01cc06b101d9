//! Files of other formats that are given by mistake, known by how they begin.

use crate::error::{Error, ErrorKind};
use crate::source::Source;

const BEGINNINGS: [(&[u8], &str, &str); 8] = [
    (b"\x89HDF\r\n", "is an HDF5 file", "read it with h5py: Caffe writes such files if snapshot_format is HDF5"),
    (b"version https://git-lfs", "is a Git LFS pointer: the model itself was not fetched", "run git lfs pull"),
    (b"\x1f\x8b", "is compressed with gzip", "unpack it with gunzip"),
    (b"PK\x03\x04", "is a zip archive", "unpack it, or open it as what it is: .npz and .pth files are such archives"),
    (b"<", "is a page of HTML or XML: the download gave a page instead of the model", "fetch the model again"),
    (b"name:", "is text: it describes a net, and holds no values", "name the .caffemodel that belongs to it"),
    (b"layer", "is text: it describes a net, and holds no values", "name the .caffemodel that belongs to it"),
    (b"#", "is text", "name a .caffemodel, .binaryproto or .solverstate"),
];

/// An error for a file that is empty or of another format.
pub(crate) fn refuse(source: &Source) -> Result<(), Error> {
    if source.length() == 0 {
        return Err(Error::format(source.name(), "is empty", "fetch or copy it again"));
    }
    let mut beginning = [0; 24];
    let length = beginning.len().min(usize::try_from(source.length()).unwrap_or(usize::MAX));
    source.read(&mut beginning[..length], 0)?;
    match BEGINNINGS.iter().find(|(begins, ..)| beginning[..length].starts_with(begins)) {
        Some((_, what, advice)) => Err(Error::new(ErrorKind::Unsupported, source.name(), *what, advice)),
        None => Ok(()),
    }
}
