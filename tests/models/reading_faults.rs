//! Faults while values are read: the system reads less, is interrupted or fails; the file is cut; memory runs out.
//!
//! This program's `pread64` replaces the C library's, because Rust's `read_at` calls it by that name.

use std::cell::Cell;
use std::ffi::{c_int, c_void};

use crate::opened::*;
use crate::support::*;
use crate::wire::{self, layer};

/// The fault of this thread's reads.
#[derive(Clone, Copy)]
pub enum Fault {
    /// A read returns one byte less than a page, and every other read is interrupted.
    Trickles,
    /// After so many bytes the disk fails.
    Breaks { after: usize },
    /// After so many bytes the file ends.
    Ends { after: usize },
}

thread_local! {
    static FAULT: Cell<Option<Fault>> = const { Cell::new(None) };
    static READ: Cell<usize> = const { Cell::new(0) };
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

/// Runs `work` with a fault.
pub fn with<R>(fault: Fault, work: impl FnOnce() -> R) -> R {
    READ.set(0);
    CALLS.set(0);
    FAULT.set(Some(fault));
    let result = work();
    FAULT.set(None);
    assert!(CALLS.get() > 0, "reads are made by pread64");
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pread64(file: c_int, into: *mut c_void, count: usize, offset: i64) -> isize {
    let fail = |error| {
        unsafe { *libc::__errno_location() = error };
        -1
    };
    CALLS.set(CALLS.get() + 1);
    let left = |after: usize| after.saturating_sub(READ.get());
    let count = match FAULT.get() {
        None => count,
        Some(Fault::Trickles) if CALLS.get() % 2 == 0 => return fail(libc::EINTR),
        Some(Fault::Trickles) => count.min(4095),
        Some(Fault::Breaks { after }) if left(after) == 0 => return fail(libc::EIO),
        Some(Fault::Ends { after }) if left(after) == 0 => return 0,
        Some(Fault::Breaks { after } | Fault::Ends { after }) => count.min(left(after)),
    };
    let read = unsafe { libc::syscall(libc::SYS_pread64, file, into, count, offset) } as isize;
    READ.set(READ.get() + usize::try_from(read).unwrap_or(0));
    read
}

const VALUES: usize = 50_000;

fn numbers() -> Vec<f32> {
    (0..VALUES).map(|number| number as f32).collect()
}

fn contents() -> Vec<u8> {
    layer("ip", "InnerProduct", &[wire::blob(&[VALUES as i64], &numbers()), wire::blob(&[1], &[5.0])])
}

#[test]
fn reads_that_give_little_or_are_interrupted_go_on() {
    let model = with(Fault::Trickles, || opened(&Folder::new(), "a.caffemodel", &contents()));
    assert_eq!(with(Fault::Trickles, || model.floats(0, VALUES)), numbers());
}

#[test]
fn a_disk_that_fails_is_named_at_every_place_and_an_untouched_object_stays_so() {
    let folder = Folder::new();
    let model = opened(&folder, "a.caffemodel", &contents());
    for after in [0, 1, 4, 5, 4096, VALUES * 4 + 3] {
        for fault in [Fault::Breaks { after }, Fault::Ends { after }] {
            let mut object = Object::new(VALUES * 4);
            let status = with(fault, || model.read(0, SYNCEDMEM_FLOAT32, &mut object));
            assert_eq!(status, SYNCEDMEM_ERROR_FILE, "{after}");
            assert!(last_error().contains("a.caffemodel: layer 0 \"ip\", blob 0: "), "{}", last_error());
            assert_eq!((object.head(), object.host_address()), (0, 0), "{after}");
        }
    }
    for after in [0, 1, 30] {
        let status = with(Fault::Breaks { after }, || open(&folder.path("a.caffemodel")).err());
        assert_eq!(status, Some(SYNCEDMEM_ERROR_FILE), "{after}");
    }
}

#[test(alone, ("SYNCEDMEM_HOST_LIMIT", "100K"))]
fn a_read_beyond_the_host_limit_leaves_the_object_untouched() {
    let model = opened(&Folder::new(), "a.caffemodel", &contents());
    let mut object = Object::new(VALUES * 4);
    assert_refused(
        model.read(0, SYNCEDMEM_FLOAT32, &mut object),
        SYNCEDMEM_ERROR_OUT_OF_MEMORY,
        "SYNCEDMEM_HOST_LIMIT is 102400 bytes",
    );
    assert_eq!((object.head(), object.host_address()), (0, 0));
    assert_eq!(model.floats(1, 1), [5.0]);
}
