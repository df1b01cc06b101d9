//! Files that are refused: each with a status and a sentence, and none with a wait, a signal or memory beyond its size.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;

use syncedmem::abi::status::syncedmem_status_t;

use crate::opened::*;
use crate::support::folder::Folder;
use crate::support::*;
use crate::wire::{self, bytes, layer, shape, varint};

fn what_is_no_regular_file_is_refused_without_a_wait() {
    let folder = Folder::new();
    let fifo = folder.path("fifo.caffemodel");
    let name = CString::new(fifo.as_os_str().as_bytes()).unwrap();
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    for path in [folder.path("."), fifo, "/dev/null".into()] {
        assert_eq!(open(&path).err(), Some(SYNCEDMEM_ERROR_FILE), "{}", path.display());
        assert!(last_error().contains("is a folder, a pipe or a device; name a regular file"), "{}", last_error());
    }
}

fn a_file_that_is_not_there_or_not_readable_is_named_with_the_systems_reason() {
    let folder = Folder::new();
    assert_eq!(open(&folder.path("none.caffemodel")).err(), Some(SYNCEDMEM_ERROR_FILE));
    let error = last_error();
    assert!(error.contains("none.caffemodel: cannot be opened (No such file or directory"), "{error}");
    assert_eq!(open(&folder.path(&"a".repeat(300))).err(), Some(SYNCEDMEM_ERROR_FILE));
}

fn damaged_and_foreign_files_are_told_apart() {
    let folder = Folder::new();
    let whole = layer("ip", "InnerProduct", &[wire::blob(&[4], &[1.0; 4])]);
    // More values, a longer layer and more axes than any file has.
    let huge = [shape(&[i64::MAX, i64::MAX]), bytes(5, [0; 4])].concat();
    let long = [vec![0xa2, 0x06], varint(u64::MAX / 2)].concat();
    let cases: [(&str, Vec<u8>, syncedmem_status_t, &str); 5] = [
        ("cut", whole[..whole.len() - 3].to_vec(), SYNCEDMEM_ERROR_FORMAT, "the file ends 3 bytes too early"),
        ("long", long, SYNCEDMEM_ERROR_FORMAT, "bytes are announced, 0 are left, at byte 2"),
        ("noise", vec![0xff; 64], SYNCEDMEM_ERROR_FORMAT, "is longer than ten bytes"),
        ("zip", b"PK\x03\x04 and so on".to_vec(), SYNCEDMEM_ERROR_UNSUPPORTED, "zip"),
        ("hdf5", b"\x89HDF\r\n\x1a\n and so on".to_vec(), SYNCEDMEM_ERROR_UNSUPPORTED, "HDF5"),
    ];
    for (name, contents, status, expected) in cases {
        let path = folder.path(&format!("{name}.caffemodel"));
        std::fs::write(&path, contents).unwrap();
        assert_eq!(open(&path).err(), Some(status), "{name}: {}", last_error());
        assert!(last_error().starts_with("syncedmem_model_open: "), "{}", last_error());
        assert!(last_error().contains(expected), "{}", last_error());
    }
    let model = opened(&folder, "huge.caffemodel", &layer("ip", "InnerProduct", &[huge]));
    assert_eq!(model.blob(0, 0).count, 1);
    let mut object = crate::support::object::Object::new(4);
    assert_eq!(model.read(0, SYNCEDMEM_FLOAT32, &mut object), SYNCEDMEM_ERROR_FORMAT);
    assert!(last_error().contains("its shape has more values than 64 bits can count"), "{}", last_error());
}

fn names_that_c_cannot_have_end_at_their_nul() {
    let folder = Folder::new();
    let file = [bytes(1, "net\0x"), layer("a\0b", "Scale", &[]), layer("", "\0", &[])].concat();
    let model = opened(&folder, "a.caffemodel", &file);
    assert_eq!(text(model.info().name), "net");
    let named = |name: &str, of: &str| (name.to_string(), of.to_string(), 0);
    assert_eq!(model.layers(), [named("a", "Scale"), named("", "")]);
}

crate::support::harness::tests![
    what_is_no_regular_file_is_refused_without_a_wait,
    a_file_that_is_not_there_or_not_readable_is_named_with_the_systems_reason,
    damaged_and_foreign_files_are_told_apart,
    names_that_c_cannot_have_end_at_their_nul,
];
