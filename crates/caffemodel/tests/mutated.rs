//! Damaged files: whatever their bytes are, reading them ends with a result, in bounded memory.
#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::{Duration, Instant};

use caffemodel::{At, Kind, Model, Part};
use support::*;

thread_local! {
    static HELD: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, which counts what the thread holds.
struct Counting;

// SAFETY: every call is handed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.set(HELD.get().wrapping_add(layout.size()));
        PEAK.set(PEAK.get().max(HELD.get()));
        // SAFETY: the caller's duties are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        HELD.set(HELD.get().wrapping_sub(layout.size()));
        // SAFETY: the caller's duties are the same.
        unsafe { System.dealloc(address, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most that `work` holds at a time, beyond what was held before.
fn peak<T>(work: impl FnOnce() -> T) -> (usize, T) {
    HELD.set(0);
    PEAK.set(0);
    let result = work();
    (PEAK.get(), result)
}

/// xorshift64*: the same inputs in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 33) as usize % bound.max(1)
    }

    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let from = self.below(length + 1);
        from..from + self.below((length - from).min(40) + 1)
    }
}

/// A sound message of every blob that is read.
fn blobs() -> Vec<Vec<u8>> {
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
fn wrapped(blobs: &[Vec<u8>]) -> Vec<(Kind, Vec<u8>)> {
    let (conv, rest) = blobs.split_at(1);
    vec![
        (Kind::Net, [bytes(1, "net"), layer("conv", "Convolution", conv), layer("b", "Scale", rest)].concat()),
        (Kind::Net, [layer_v1("ip", 14, blobs), layer_v1("r", 18, &[])].concat()),
        (Kind::Net, [layer_v0("pad", "padding", &[]), layer_v0("conv", "conv", blobs)].concat()),
        (Kind::Blob, blobs[0].clone()),
        (Kind::Blobs, blobs.iter().flat_map(|blob| bytes(1, blob)).collect()),
        (Kind::SolverState, [number(1, 300), bytes(2, "a.caffemodel"), bytes(3, &blobs[0]), number(4, 2)].concat()),
    ]
}

/// An input, and what to open it as: half of them damaged anywhere, half inside of their blobs.
fn damaged(random: &mut Random, blobs: &[Vec<u8>]) -> (Option<Kind>, Vec<u8>) {
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
        0 => [Kind::Net, Kind::Blob, Kind::Blobs, Kind::SolverState][random.below(4)],
        1 | 2 => return (None, file),
        _ => kind,
    };
    (Some(kind), file)
}

/// Changes a few places of a file.
fn mutate(random: &mut Random, file: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..=random.below(3) {
        let at = random.below(file.len());
        match random.below(9) {
            0 if !file.is_empty() => file[at] ^= 1 << random.below(8),
            1 if !file.is_empty() => file[at] = random.next() as u8,
            // Bytes that are interesting: the ends of numbers, tags of known fields.
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

/// Reads all that can be read; returns the number of arrays.
fn read_all(model: &Model, random: &mut Random) -> u64 {
    let mut arrays = 0;
    for (layer, blobs) in model.layers().iter().map(|layer| layer.blobs().len()).enumerate() {
        for (blob, part) in (0..blobs).flat_map(|blob| [(blob, Part::Data), (blob, Part::Diff)]) {
            let at = At { layer, blob, part };
            let _ = model.layers()[layer].shape_in_net(blob);
            let Ok(array) = model.array(at) else { continue };
            arrays += 1;
            let (count, bytes) = (array.count() as usize, array.bytes() as usize);
            assert!(bytes as u64 <= model.file_bytes(), "values lie in the file");
            model.read_bytes(at, 0, &mut vec![0; bytes]).unwrap();
            let first = random.below(count + 1);
            model.read_f32(at, first as u64, &mut vec![0.0; count - first]).unwrap();
            model.read_f64(at, 0, &mut vec![0.0; first]).unwrap();
        }
    }
    arrays
}

/// What Rust's own errors, names and test need beside.
const SPARE_BYTES: usize = 16 << 10;
const ALLOWANCE_BYTES: usize = 4 << 20;

#[test]
fn no_damaged_file_panics_hangs_or_takes_more_memory_than_its_size_allows() {
    let inputs = std::env::var("SYNCEDMEM_TEST_MUTATIONS").map_or(40_000, |inputs| inputs.parse().unwrap());
    let blobs = blobs();
    let (mut opened, mut arrays, mut most, mut slowest) = (0, 0, 0, Duration::ZERO);
    for input in 0..inputs {
        let mut random = Random(input * 2 + 1);
        random.next();
        let (kind, file) = damaged(&mut random, &blobs);
        let length = file.len();
        let start = Instant::now();
        let (held, model) = peak(|| Model::from_bytes(file, "mutated", kind));
        assert!(held <= length + ALLOWANCE_BYTES + SPARE_BYTES, "input {input}: {held} bytes for a file of {length}");
        most = most.max(held);
        match model {
            Ok(model) => {
                opened += 1;
                arrays += read_all(&model, &mut random);
            }
            Err(error) => assert!(error.to_string().starts_with("mutated: "), "{error}"),
        }
        slowest = slowest.max(start.elapsed());
    }
    println!("{inputs} inputs, {opened} opened, {arrays} arrays read, at most {most} bytes held, slowest {slowest:?}");
    assert!(opened * 5 > inputs && arrays > opened, "the mutations leave enough to read: {opened}, {arrays}");
    assert!(opened * 4 < inputs * 3, "and damage enough: {opened}");
    assert!(slowest < Duration::from_secs(10), "{slowest:?}");
}

#[test]
fn announced_sizes_do_not_take_memory() {
    let announced = varint(1 << 40);
    for head in [&[0x0a][..], &[0xa2, 0x06], &[0xa2, 0x06, 0x05, 0x3a], &[0x12], &[0x1a]] {
        let file = [head, &announced, &[0]].concat();
        for kind in [Kind::Net, Kind::Blob, Kind::Blobs, Kind::SolverState] {
            let file = file.clone();
            let (held, _) = peak(|| Model::from_bytes(file, "m", Some(kind)));
            assert!(held < SPARE_BYTES, "{held} bytes for {kind:?} of {head:x?}");
        }
    }
}

#[test]
fn many_layers_take_no_more_memory_than_the_files_size_and_the_allowance() {
    for layers in [100, 1_000, 10_000, 100_000, 1_000_000] {
        let file = bytes(2, "").repeat(layers);
        let length = file.len();
        let (held, _) = peak(|| Model::from_bytes(file, "m", Some(Kind::Net)));
        assert!(held <= length + ALLOWANCE_BYTES + SPARE_BYTES, "{held} bytes for a file of {length}");
    }
}
