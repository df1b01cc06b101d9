//! Damaged files, the same in every run.

use caffemodel::Kind;

use super::*;

/// xorshift64*
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 33) as usize % bound.max(1)
    }

    pub fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let from = self.below(length + 1);
        from..from + self.below((length - from).min(40) + 1)
    }
}

/// Sound messages of every kind.
pub fn blobs() -> Vec<Vec<u8>> {
    let floats = [1.0, -2.0, 0.5, f32::NAN, 4.0, 5.0];
    let (packed, doubles) = (f32_bytes(&floats), f64_bytes(&[1.0, 2.0]));
    vec![
        blob(&[2, 3], &floats),
        [legacy(&[1, 1, 2, 3]), bytes(5, &packed), bytes(6, &packed)].concat(),
        [number(10, 2), bytes(12, [0, 0x3c, 0, 0x40]), number(11, 1), bytes(13, [0; 8]), shape(&[2])].concat(),
        [legacy(&[1, 1, 1, 2, 3]), bytes(6, &packed), bytes(7, &packed)].concat(),
        [bytes(8, &doubles), bytes(9, &doubles), shape(&[1, 2])].concat(),
        [fixed32(5, 1.0), fixed32(5, 2.0), fixed64(8, 3.0), fixed64(8, 4.0), shape(&[2])].concat(),
        [group(9, &group(8, &number(1, 300))), blob(&[0], &[]), bytes(150, "unknown")].concat(),
    ]
}

/// Files of every kind that hold the blobs.
pub fn wrapped(blobs: &[Vec<u8>]) -> Vec<(Kind, Vec<u8>)> {
    let (conv, rest) = blobs.split_at(1);
    vec![
        (Kind::Net, [bytes(1, "net"), layer("conv", "Convolution", conv), layer("b", "Scale", rest)].concat()),
        (Kind::Net, [layer_v1("ip", 14, blobs), layer_v1("r", 18, &[])].concat()),
        (Kind::Net, [layer_v0("pad", "padding", &[]), layer_v0("conv", "conv", blobs)].concat()),
        (Kind::Blob, blobs[0].clone()),
        (Kind::Blobs, blobs.iter().flat_map(|blob| bytes(1, blob)).collect()),
        (Kind::InitNet, operators(blobs)),
        (Kind::SolverState, [number(1, 300), bytes(2, "a.caffemodel"), bytes(3, &blobs[0]), number(4, 2)].concat()),
    ]
}

/// A net of Caffe2, with the first blob as a tensor's bytes.
fn operators(blobs: &[Vec<u8>]) -> Vec<u8> {
    let texts = argument("values", &[bytes(7, "cat"), bytes(7, &blobs[0])]);
    let packed = argument("values", &[bytes(6, [1, 2, 0xff, 0x7f, 3]), number(6, -4)]);
    let value = argument("value", &[fixed32(2, 0.5)]);
    let count = blobs[0].len() as i64;
    [
        bytes(1, "init"),
        operator("w", "GivenTensorFill", &[dims(&[3]), float_values(&[1.0, 2.0, 3.0])]),
        operator("d", "GivenTensorDoubleFill", &[dims(&[2]), float_values(&[1.0, 2.0])]),
        operator("i", "GivenTensorIntFill", &[dims(&[5]), packed]),
        operator("t", "GivenTensorStringFill", &[dims(&[2]), texts]),
        operator(
            "b",
            "GivenTensorByteStringToUInt8Fill",
            &[dims(&[count]), argument("values", &[bytes(7, &blobs[0])])],
        ),
        operator("c", "ConstantFill", &[dims(&[4, 2]), argument("dtype", &[number(3, 1)]), value]),
        operator("x", "XavierFill", &[dims(&[3])]),
    ]
    .concat()
}

/// A file and the kind to open it as. Half of the files are damaged anywhere, half inside their blobs.
pub fn damaged(random: &mut Random, blobs: &[Vec<u8>]) -> (Option<Kind>, Vec<u8>) {
    let mut chosen: Vec<_> = (0..=random.below(2)).map(|_| blobs[random.below(blobs.len())].clone()).collect();
    let other = &blobs[random.below(blobs.len())];
    let is_inside = random.below(2) == 0;
    if is_inside {
        let index = random.below(chosen.len());
        mutate(random, &mut chosen[index], other);
    }
    let mut files = wrapped(&chosen);
    let (kind, mut file) = files.swap_remove(random.below(files.len()));
    if !is_inside {
        mutate(random, &mut file, other);
    }
    let kind = match random.below(8) {
        0 => [Kind::Net, Kind::Blob, Kind::Blobs, Kind::SolverState, Kind::InitNet][random.below(5)],
        1 | 2 => return (None, file),
        _ => kind,
    };
    (Some(kind), file)
}

/// Changes a few places of a file.
pub fn mutate(random: &mut Random, file: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..=random.below(3) {
        let at = random.below(file.len());
        match random.below(9) {
            0 if !file.is_empty() => file[at] ^= 1 << random.below(8),
            1 if !file.is_empty() => file[at] = random.next() as u8,
            // The values are ends of varints, and tags of known fields.
            2 if !file.is_empty() => {
                file[at] = [0, 1, 0x7f, 0x80, 0xff, 0x0a, 0x12, 0x2a, 0x3a, 0x08, 0x28, 0x0b, 0x0c][random.below(13)];
            }
            3 => drop(file.drain(random.range(file.len()))),
            4 => {
                let range = random.range(file.len());
                let again = file[range].to_vec();
                drop(file.splice(at..at, again));
            }
            5 => drop(file.splice(at..at, other[random.range(other.len())].to_vec())),
            6 => drop(file.splice(at..at, varint(u64::MAX >> random.below(64)))),
            7 => file.truncate(at),
            _ => drop(file.splice(at..at, (0..random.below(12)).map(|_| random.next() as u8).collect::<Vec<_>>())),
        }
    }
}
