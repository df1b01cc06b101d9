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
use crate::wire::{self, *};

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
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/fuzz/corpus/model");
    // Bytes that are no UTF-8, and values that do not fit the shape.
    let odd = bytes(100, [bytes(1, [b'a', 0xff, b'b']), bytes(7, wire::blob(&[3], &[1.0]))].concat());
    std::fs::write(folder.path("odd"), odd).unwrap();
    // Without an ending of its name, a file's fields decide what it is.
    for (file, name, kind) in [
        (corpus.join("net"), "a.caffemodel", SYNCEDMEM_MODEL_NET),
        (corpus.join("net"), "a", SYNCEDMEM_MODEL_NET),
        (corpus.join("net_v1"), "a", SYNCEDMEM_MODEL_NET),
        (corpus.join("net_v0"), "a", SYNCEDMEM_MODEL_NET),
        (folder.path("odd"), "a.caffemodel", SYNCEDMEM_MODEL_NET),
        (corpus.join("blob"), "a.binaryproto", SYNCEDMEM_MODEL_BLOB),
        (corpus.join("blobs"), "blobs.binaryproto", SYNCEDMEM_MODEL_BLOBS),
        (corpus.join("solver_state"), "a.solverstate", SYNCEDMEM_MODEL_SOLVER_STATE),
        (corpus.join("init_net"), "init_net.pb", SYNCEDMEM_MODEL_INIT_NET),
    ] {
        let path = folder.path(name);
        std::fs::copy(file, &path).unwrap();
        every_allocation(6, SYNCEDMEM_SUCCESS, open_and_close(&path, Some(kind)));
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
