//! Handles: NULL and closed ones, threads that share one, and a fork.

use std::ptr::{null, null_mut};

use crate::opened::*;
use crate::support::*;
use crate::wire::{self, layer};

#[test]
fn null_is_refused_and_may_be_closed() {
    let (mut count, mut handle) = (7, null_mut());
    for status in
        unsafe { [syncedmem_model_open(null(), &mut handle), syncedmem_model_layer_count(null(), &mut count)] }
    {
        assert_refused(status, SYNCEDMEM_ERROR_INVALID_ARGUMENT, "NULL");
    }
    assert_eq!((unsafe { syncedmem_model_close(null_mut()) }, count), (SYNCEDMEM_SUCCESS, 7));
}

#[test]
fn a_structure_that_is_too_small_is_refused() {
    let model = opened(&Folder::new(), "a.caffemodel", &layer("a", "Scale", &[wire::blob(&[1], &[1.0])]));
    let (mut info, mut blob) = (model.info(), model.blob(0, 0));
    info.size -= 1;
    blob.size -= 1;
    assert_eq!(unsafe { syncedmem_model_info(model.0, &mut info) }, SYNCEDMEM_ERROR_INVALID_ARGUMENT);
    assert_refused(
        unsafe { syncedmem_model_blob_info(model.0, 0, 0, &mut blob) },
        SYNCEDMEM_ERROR_INVALID_ARGUMENT,
        "set it to the structure's sizeof before the call",
    );
    // The structure of a later version is larger.
    info.size += 100;
    assert_eq!(unsafe { syncedmem_model_info(model.0, &mut info) }, SYNCEDMEM_SUCCESS);
    assert_eq!(info.size, size_of_val(&info));
}

#[test]
fn a_model_that_was_closed_is_detected() {
    let model = opened(&Folder::new(), "a.caffemodel", &layer("a", "Scale", &[]));
    let handle = model.0;
    drop(model);
    let mut count = 7;
    assert_refused(
        unsafe { syncedmem_model_layer_count(handle, &mut count) },
        SYNCEDMEM_ERROR_INVALID_HANDLE,
        "it was closed",
    );
    assert_eq!(unsafe { syncedmem_model_close(handle) }, SYNCEDMEM_ERROR_INVALID_HANDLE);
    assert_eq!(count, 7);
    let mut object = Object::new(4);
    assert_eq!(unsafe { syncedmem_model_close(object.mem().cast()) }, SYNCEDMEM_ERROR_INVALID_HANDLE);
}

#[test]
fn closing_closes_the_file() {
    // Other tests open and close files at the same time.
    let is_it = |file: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_link(file.unwrap().path()).is_ok_and(|path| path.to_string_lossy().contains("closes.caffemodel"))
    };
    let open_files =
        || std::fs::read_dir("/proc/self/fd").unwrap().filter_map(|file| is_it(file).then_some(())).count();
    let model = opened(&Folder::new(), "closes.caffemodel", &layer("a", "Scale", &[]));
    assert_eq!(open_files(), 1);
    drop(model);
    assert_eq!(open_files(), 0);
}

#[test]
fn a_forked_child_reads_from_its_parents_model() {
    let model = opened(&Folder::new(), "a.caffemodel", &layer("a", "Scale", &[wire::blob(&[3], &[1.0, 2.0, 3.0])]));
    in_a_child(|| assert_eq!(model.floats(0, 3), [1.0, 2.0, 3.0]));
    assert_eq!(model.floats(0, 3), [1.0, 2.0, 3.0]);
}
