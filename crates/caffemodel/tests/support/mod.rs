//! Protobuf, written by hand.
#![allow(dead_code, reason = "each test program uses a part of this module")]
#![allow(clippy::unwrap_used, reason = "a test whose preparation fails has failed")]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use caffemodel::{At, Element, Kind, Model};

pub fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn tag(number: u64, wire: u64) -> Vec<u8> {
    varint(number << 3 | wire)
}

pub fn number(number: u64, value: i64) -> Vec<u8> {
    [tag(number, 0), varint(value as u64)].concat()
}

/// A text, a message or a packed list.
pub fn bytes(number: u64, value: impl AsRef<[u8]>) -> Vec<u8> {
    [tag(number, 2), varint(value.as_ref().len() as u64), value.as_ref().to_vec()].concat()
}

pub fn group(number: u64, inside: &[u8]) -> Vec<u8> {
    [tag(number, 3), inside.to_vec(), tag(number, 4)].concat()
}

pub fn fixed32(number: u64, value: f32) -> Vec<u8> {
    [tag(number, 5), value.to_le_bytes().to_vec()].concat()
}

pub fn fixed64(number: u64, value: f64) -> Vec<u8> {
    [tag(number, 1), value.to_le_bytes().to_vec()].concat()
}

pub fn f32_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

pub fn f64_bytes(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// A packed list.
pub fn shape(dims: &[i64]) -> Vec<u8> {
    bytes(7, bytes(1, dims.iter().flat_map(|dim| varint(*dim as u64)).collect::<Vec<_>>()))
}

/// A blob of floats, as today's Caffe writes it.
pub fn blob(dims: &[i64], values: &[f32]) -> Vec<u8> {
    [bytes(5, f32_bytes(values)), shape(dims)].concat()
}

pub fn legacy(dims: &[i64]) -> Vec<u8> {
    (1..).zip(dims).flat_map(|(index, dim)| number(index, *dim)).collect()
}

/// The blob in a net.
pub fn layer(name: &str, kind: &str, blobs: &[Vec<u8>]) -> Vec<u8> {
    let blobs = blobs.iter().flat_map(|blob| bytes(7, blob));
    bytes(100, [bytes(1, name), bytes(2, kind)].concat().into_iter().chain(blobs).collect::<Vec<_>>())
}

/// The field of a V1 layer in a net.
pub fn layer_v1(name: &str, kind: i64, blobs: &[Vec<u8>]) -> Vec<u8> {
    let blobs = blobs.iter().flat_map(|blob| bytes(6, blob));
    bytes(2, [bytes(4, name), number(5, kind)].concat().into_iter().chain(blobs).collect::<Vec<_>>())
}

/// The field of a V0 layer in a net.
pub fn layer_v0(name: &str, kind: &str, blobs: &[Vec<u8>]) -> Vec<u8> {
    let blobs = blobs.iter().flat_map(|blob| bytes(50, blob));
    bytes(2, bytes(1, [bytes(1, name), bytes(2, kind)].concat().into_iter().chain(blobs).collect::<Vec<_>>()))
}

/// The field of an operator in a net of Caffe2.
pub fn operator(output: &str, kind: &str, arguments: &[Vec<u8>]) -> Vec<u8> {
    bytes(2, [bytes(2, output), bytes(4, kind), arguments.concat()].concat())
}

/// The field of an operator's argument: its name, and other fields.
pub fn argument(name: &str, fields: &[Vec<u8>]) -> Vec<u8> {
    bytes(5, [bytes(1, name), fields.concat()].concat())
}

/// A list with a tag before each value.
pub fn dims(dims: &[i64]) -> Vec<u8> {
    argument("shape", &[dims.iter().flat_map(|dim| number(6, *dim)).collect()])
}

/// A list with a tag before each value, as Caffe2 writes it.
pub fn float_values(values: &[f32]) -> Vec<u8> {
    argument("values", &[values.iter().flat_map(|value| fixed32(5, *value)).collect()])
}

/// A list with a tag before each value, as Caffe2 writes it.
pub fn int_values(values: &[i64]) -> Vec<u8> {
    argument("values", &[values.iter().flat_map(|value| number(6, *value)).collect()])
}

pub fn net(file: Vec<u8>) -> Model {
    Model::from_bytes(file, "net", Some(Kind::Net)).unwrap()
}

pub fn net_of(blob: Vec<u8>) -> Model {
    net(layer("conv1", "Convolution", &[blob]))
}

pub fn refused(file: Vec<u8>) -> String {
    Model::from_bytes(file, "net", Some(Kind::Net)).unwrap_err().to_string()
}

/// The data of the first blob.
pub fn floats(model: &Model) -> Vec<f32> {
    floats_at(model, At::data(0, 0))
}

pub fn floats_at(model: &Model, at: At) -> Vec<f32> {
    let mut values = vec![f32::NAN; model.array(at).unwrap().count() as usize];
    model.read_f32(at, 0, &mut values).unwrap();
    values
}

/// The error of reading the first blob.
pub fn unreadable(blob: Vec<u8>) -> String {
    net_of(blob).array(At::data(0, 0)).unwrap_err().to_string()
}

pub fn stored(model: &Model, at: At) -> (Element, Vec<u8>) {
    let array = model.array(at).unwrap();
    let mut bytes = vec![0; array.bytes() as usize];
    model.read_bytes(at, 0, &mut bytes).unwrap();
    (array.element(), bytes)
}

/// Values of the first blob of `sparse_model`.
pub const LARGE: u64 = 700 << 20;

/// Writes a sparse model of more than 2 GiB: the values of its first blob are a hole, except the last one, 7.5.
pub fn sparse_model(path: &Path) {
    let dims = shape(&[700, 1 << 20]);
    let data_tag = [vec![5 << 3 | 2], varint(LARGE * 4)].concat();
    let blob_bytes = data_tag.len() as u64 + LARGE * 4 + dims.len() as u64;
    let head = [bytes(1, "fc6"), bytes(2, "InnerProduct"), vec![7 << 3 | 2], varint(blob_bytes)].concat();
    let begin = [vec![0xa2, 0x06], varint(head.len() as u64 + blob_bytes), head, data_tag].concat();
    let after = [dims, layer("fc7", "InnerProduct", &[blob(&[2], &[3.0, 4.0])])].concat();
    let (file, values_at) = (File::create(path).unwrap(), begin.len() as u64);
    file.write_all_at(&begin, 0).unwrap();
    file.write_all_at(&7.5f32.to_le_bytes(), values_at + LARGE * 4 - 4).unwrap();
    file.write_all_at(&after, values_at + LARGE * 4).unwrap();
}

/// A folder, which is removed when this is dropped.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(test: &str) -> Self {
        Self::within(env!("CARGO_TARGET_TMPDIR").into(), test)
    }

    /// Makes the folder in memory if the machine has such a file system, because writing thousands of files to a disk is slow.
    pub fn in_memory(test: &str) -> Self {
        let memory = PathBuf::from("/dev/shm");
        Self::within(if memory.is_dir() { memory } else { std::env::temp_dir() }, test)
    }

    fn within(parent: PathBuf, test: &str) -> Self {
        let path = parent.join(format!("caffemodel-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn file(&self, name: &str, contents: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, contents).unwrap();
        path
    }

    /// The names of the files, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
