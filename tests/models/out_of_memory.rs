//! Every allocation of a call on a model file fails in turn, alone and with all that follow: each time the status says so, and the same
//! call does afterwards what it does with enough memory. Nothing aborts.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::allocator;
use crate::opened::*;
use crate::support::blob::Blob;
use crate::support::folder::Folder;
use crate::support::*;
use crate::wire::mutation::{blobs, wrapped};
use crate::wire::{self, *};
use caffemodel::Kind;

fn every_allocation(at_least: usize, expected: syncedmem_status_t, call: impl Fn() -> syncedmem_status_t) {
    assert_eq!(call(), expected, "{}", last_error());
    allocator::every_allocation(at_least, done(expected), || (), |()| (), |()| done(call()));
}

/// Opens and closes a file; a file that opens must be of that kind, whatever failed.
fn open_and_close(path: &Path, kind: Option<syncedmem_model_kind_t>) -> impl Fn() -> syncedmem_status_t {
    let path = CString::new(path.as_os_str().as_bytes()).unwrap();
    move || {
        let mut model = std::ptr::null_mut();
        let status = unsafe { syncedmem_model_open(path.as_ptr(), &mut model) };
        if status == SYNCEDMEM_SUCCESS {
            let opened = Opened(model);
            assert_eq!(Some(opened.info().kind), kind.map(|kind| kind as i32));
        } else {
            assert_eq!(unsafe { syncedmem_model_close(model) }, SYNCEDMEM_SUCCESS);
        }
        status
    }
}

#[test]
fn opening_every_kind_of_file() {
    let folder = Folder::new();
    let kinds = [
        SYNCEDMEM_MODEL_NET,
        SYNCEDMEM_MODEL_BLOB,
        SYNCEDMEM_MODEL_BLOBS,
        SYNCEDMEM_MODEL_SOLVER_STATE,
        SYNCEDMEM_MODEL_INIT_NET,
    ];
    let names = ["a.caffemodel", "a.binaryproto", "blobs.binaryproto", "a.solverstate", "init_net.pb"];
    // The names are no UTF-8, and the values do not fit the shape.
    let odd = bytes(100, [bytes(1, [b'a', 0xff, b'b']), bytes(7, wire::blob(&[3], &[1.0]))].concat());
    for (kind, contents) in wrapped(&blobs()).into_iter().chain([(Kind::Net, odd)]) {
        let place = [Kind::Net, Kind::Blob, Kind::Blobs, Kind::SolverState, Kind::InitNet]
            .iter()
            .position(|one| *one == kind)
            .unwrap();
        // A file without an extension has the kind that its fields say.
        for name in [names[place], "a"].into_iter().take(if kind == Kind::Net { 2 } else { 1 }) {
            let path = folder.path(name);
            std::fs::write(&path, &contents).unwrap();
            every_allocation(6, SYNCEDMEM_SUCCESS, open_and_close(&path, Some(kinds[place])));
        }
    }
}

#[test]
fn refusing_a_file() {
    let folder = Folder::new();
    let whole = layer("ip", "InnerProduct", &[wire::blob(&[4], &[1.0; 4])]);
    for (name, contents, expected) in [
        ("cut.caffemodel", whole[..whole.len() - 3].to_vec(), SYNCEDMEM_ERROR_FORMAT),
        ("list.caffemodel", layer("ip", "Scale", &[bytes(5, [0; 3])]), SYNCEDMEM_ERROR_FORMAT),
        ("group.caffemodel", b"\x0b\x14".to_vec(), SYNCEDMEM_ERROR_FORMAT),
        ("noise", vec![0xff; 64], SYNCEDMEM_ERROR_FORMAT),
        ("text.caffemodel", b"layer { name: \"data\" }".to_vec(), SYNCEDMEM_ERROR_UNSUPPORTED),
        ("zip.caffemodel", b"PK\x03\x04 and so on".to_vec(), SYNCEDMEM_ERROR_UNSUPPORTED),
    ] {
        let path = folder.path(name);
        std::fs::write(&path, contents).unwrap();
        every_allocation(3, expected, open_and_close(&path, None));
    }
    every_allocation(3, SYNCEDMEM_ERROR_FILE, open_and_close(&folder.path("none"), None));
    every_allocation(3, SYNCEDMEM_ERROR_FILE, open_and_close(&folder.path("."), None));
}

#[test]
fn reading_and_refusing_values() {
    let values = [wire::blob(&[2], &[1.0, 2.0]), wire::blob(&[3], &[1.0])];
    let model = opened(&Folder::new(), "a.caffemodel", &layer("ip", "InnerProduct", &values));
    let read = |blob, of| {
        let model = &model;
        move || {
            let mut storage = Storage([FILL; 64]);
            assert_eq!(storage.construct(8), SYNCEDMEM_SUCCESS);
            let status = model.read(blob, of, &mut storage);
            assert_eq!(storage.destruct(), SYNCEDMEM_SUCCESS);
            status
        }
    };
    every_allocation(1, SYNCEDMEM_SUCCESS, read(0, SYNCEDMEM_FLOAT32));
    // These reads fail: the values do not fit the object, have another type, do not fit their shape, or do not exist.
    every_allocation(3, SYNCEDMEM_ERROR_INVALID_ARGUMENT, read(0, SYNCEDMEM_FLOAT64));
    every_allocation(3, SYNCEDMEM_ERROR_INVALID_ARGUMENT, read(0, SYNCEDMEM_INT32));
    every_allocation(3, SYNCEDMEM_ERROR_FORMAT, read(1, SYNCEDMEM_FLOAT32));
    every_allocation(3, SYNCEDMEM_ERROR_INVALID_ARGUMENT, read(2, SYNCEDMEM_FLOAT32));
}

#[test]
fn reading_a_blob_file() {
    let folder = Folder::new();
    let string = |name: &str| CString::new(folder.path(name).as_os_str().as_bytes()).unwrap();
    std::fs::write(folder.path("a.binaryproto"), wire::blob(&[2], &[1.0, 2.0])).unwrap();
    std::fs::write(folder.path("net.caffemodel"), layer("ip", "InnerProduct", &[])).unwrap();
    let read = |path: CString| {
        move || match Blob::unshaped(SYNCEDMEM_FLOAT32) {
            Ok(blob) => unsafe { syncedmem_blob_read(blob.0, path.as_ptr()) },
            Err(status) => status,
        }
    };
    every_allocation(8, SYNCEDMEM_SUCCESS, read(string("a.binaryproto")));
    every_allocation(8, SYNCEDMEM_ERROR_UNSUPPORTED, read(string("net.caffemodel")));
}
