//! The memory that reading and writing take.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use caffemodel::{At, Edit, Element, Kind, Model, Values};
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

/// Bytes of errors, names and the test itself.
const SPARE_BYTES: usize = 16 << 10;
const ALLOWANCE_BYTES: usize = 4 << 20;

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
