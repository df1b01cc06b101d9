//! Opening and reading a model of 500 MB, beside `read()` of the file into the same memory.
//!
//! `cargo bench --package caffemodel`. The file is in the page cache, and the memory has been touched before.
#![expect(clippy::unwrap_used, reason = "a measurement that cannot be prepared cannot be made")]

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use caffemodel::{At, Model};

const LAYERS: usize = 50;
const VALUES: usize = 2_500_000;
const ROUNDS: usize = 11;

fn varint(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn field(number: usize, value: &[u8]) -> Vec<u8> {
    [varint(number << 3 | 2), varint(value.len()), value.to_vec()].concat()
}

struct Written(PathBuf);

impl Written {
    fn new() -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("read-{}.caffemodel", std::process::id()));
        let mut file = File::create(&path).unwrap();
        let values: Vec<u8> = (0..VALUES as u32).flat_map(|value| (value as f32).to_le_bytes()).collect();
        let shape = field(7, &field(1, &varint(VALUES)));
        let blob = field(7, &[field(5, &values), shape].concat());
        for layer in 0..LAYERS {
            let head = [field(1, format!("layer{layer}").as_bytes()), field(2, b"InnerProduct")].concat();
            file.write_all(&field(100, &[head, blob.clone()].concat())).unwrap();
        }
        Self(path)
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn read_file(path: &Path, into: &mut [u8]) -> Duration {
    let start = Instant::now();
    File::open(path).unwrap().read_exact(into).unwrap();
    start.elapsed()
}

fn open(path: &Path) -> Duration {
    let start = Instant::now();
    assert_eq!(Model::open(path).unwrap().layers().len(), LAYERS);
    start.elapsed()
}

fn read_blobs(path: &Path, into: &mut [f32]) -> Duration {
    let start = Instant::now();
    let model = Model::open(path).unwrap();
    for (layer, values) in into.chunks_exact_mut(VALUES).enumerate() {
        model.read_f32(At::data(layer, 0), 0, values).unwrap();
    }
    start.elapsed()
}

fn main() {
    let written = Written::new();
    let path = &written.0;
    let bytes = std::fs::metadata(path).unwrap().len() as usize;
    // `read()` fills it too, but for the file's last two thousand bytes.
    let mut values = vec![1f32; LAYERS * VALUES];
    let (mut reads, mut opens, mut blobs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        reads.push(read_file(path, bytemuck::cast_slice_mut(&mut values)));
        opens.push(open(path));
        blobs.push(read_blobs(path, &mut values));
    }
    let (read, open, blobs) = (median(reads), median(opens), median(blobs));
    println!("{} MB, {LAYERS} layers; medians of {ROUNDS}", bytes / 1_000_000);
    println!("read() of the file        {read:>10.2?}");
    println!("open                      {open:>10.2?}");
    println!("open and read every blob  {blobs:>10.2?}  {:.2} x read()", blobs.as_secs_f64() / read.as_secs_f64());
}
