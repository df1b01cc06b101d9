//! Reading a damaged file ends with a result, in bounded memory, and a copy of one that is read is the same file.
#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::{Duration, Instant};

use caffemodel::{At, Edit, Element, Kind, Model, Part, Values};
use support::mutation::*;
use support::*;

thread_local! {
    static HELD: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, with a count of the bytes that the thread has allocated.
struct Counting;

// SAFETY: every call goes to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.set(HELD.get().wrapping_add(layout.size()));
        PEAK.set(PEAK.get().max(HELD.get()));
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        HELD.set(HELD.get().wrapping_sub(layout.size()));
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.dealloc(address, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most bytes that `work` has allocated at once.
fn peak<T>(work: impl FnOnce() -> T) -> (usize, T) {
    HELD.set(0);
    PEAK.set(0);
    let result = work();
    (PEAK.get(), result)
}

/// Returns the number of arrays.
fn read_all(model: &Model, random: &mut Random) -> u64 {
    let mut arrays = 0;
    for (layer, found) in model.layers().iter().enumerate() {
        (0..found.texts().map_or(0, |texts| texts.count())).for_each(|text| drop(model.text(layer, text).unwrap()));
        for (blob, part) in (0..found.blobs().len()).flat_map(|blob| [(blob, Part::Data), (blob, Part::Diff)]) {
            let at = At { layer, blob, part };
            let _ = found.shape_in_net(blob);
            let Ok(array) = model.array(at) else { continue };
            arrays += 1;
            let (count, bytes) = (array.count() as usize, array.bytes() as usize);
            if found.type_name() == "ConstantFill" && bytes as u64 > model.file_bytes() {
                continue;
            }
            // An integer may take one byte in the file and eight in memory.
            let widest = if model.kind() == Kind::InitNet { 8 } else { 1 };
            assert!(bytes as u64 <= widest * model.file_bytes(), "values lie in the file");
            match model.read_bytes(at, 0, &mut vec![0; bytes]) {
                Ok(()) => {}
                Err(error) if error.to_string().contains(", which is no ") => continue,
                Err(error) => panic!("{error}"),
            }
            let first = random.below(count + 1);
            model.read_f32(at, first as u64, &mut vec![0.0; count - first]).unwrap();
            model.read_f64(at, 0, &mut vec![0.0; first]).unwrap();
        }
    }
    arrays
}

/// Replaces each array by its own values, in another order than the file's.
fn with_own_values(model: &Model) -> Edit<'_> {
    let mut edit = Edit::of(model);
    let layers = model.layers().iter().enumerate().filter(|_| model.kind() != Kind::InitNet);
    for (layer, blob) in layers.flat_map(|(layer, found)| (0..found.blobs().len()).map(move |blob| (layer, blob))) {
        for at in [At::diff(layer, blob), At::data(layer, blob)].into_iter().filter(|at| model.array(*at).is_ok()) {
            let (element, bytes) = stored(model, at);
            let count = (bytes.len() / element.size()) as u64;
            edit.replace(at, Values::new(element, count, std::io::Cursor::new(bytes)));
        }
    }
    edit
}

/// Bytes of errors, names and the test itself.
const SPARE_BYTES: usize = 16 << 10;
const ALLOWANCE_BYTES: usize = 4 << 20;

#[test]
fn no_damaged_file_panics_hangs_or_takes_more_memory_than_its_size_allows() {
    let inputs = std::env::var("SYNCEDMEM_TEST_MUTATIONS").map_or(40_000, |inputs| inputs.parse().unwrap());
    let blobs = blobs();
    let folder = Folder::in_memory("mutated");
    let copy = folder.0.join("copy");
    let (mut opened, mut arrays, mut most, mut slowest) = (0, 0, 0, Duration::ZERO);
    for input in 0..inputs {
        let mut random = Random(input * 2 + 1);
        random.next();
        let (kind, file) = damaged(&mut random, &blobs);
        let (length, whole) = (file.len(), file.clone());
        let start = Instant::now();
        let (held, model) = peak(|| Model::from_bytes(file, "mutated", kind));
        assert!(held <= length + ALLOWANCE_BYTES + SPARE_BYTES, "input {input}: {held} bytes for a file of {length}");
        most = most.max(held);
        match model {
            Ok(model) => {
                opened += 1;
                arrays += read_all(&model, &mut random);
                if input % 16 == 0 {
                    with_own_values(&model).write_to(&copy).unwrap();
                    assert!(std::fs::read(&copy).unwrap() == whole, "input {input}: the copy is another file");
                }
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
        for kind in [Kind::Net, Kind::Blob, Kind::Blobs, Kind::SolverState, Kind::InitNet] {
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

#[test]
fn writing_takes_the_same_memory_for_files_of_any_size() {
    let held_for = |values: usize| {
        let file = layer("a", "Scale", &[blob(&[values as i64], &vec![1.0; values]), blob(&[1], &[2.0])]).repeat(2);
        let model = net(file);
        let folder = Folder::in_memory("memory");
        let (held, written) = peak(|| {
            let new = Values::new(Element::F32, values as u64, std::io::repeat(7));
            Edit::of(&model).replace(At::data(0, 0), new).write_to(folder.0.join("new"))
        });
        written.unwrap();
        held
    };
    let (small, large) = (held_for(1_000), held_for(4_000_000));
    // A block's new values have a second buffer.
    assert!(large < small + (256 << 10) && large < 576 << 10, "{small} and {large} bytes");
}
