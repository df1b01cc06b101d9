//! Files that are refused: each with a status and a sentence, and none with a wait, a signal or memory beyond its size.

use std::cell::Cell;
use std::ffi::{CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;

use crate::opened::*;
use crate::support::*;
use crate::wire::{self, bytes, layer, shape, varint};

thread_local! {
    static SWAPPED: Cell<bool> = const { Cell::new(false) };
    static FLAGS: Cell<c_int> = const { Cell::new(0) };
}

/// In place of the C library's, by whose name std opens files: puts a pipe in the file's place at the last moment.
#[unsafe(no_mangle)]
unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
    let swaps = SWAPPED.replace(false);
    if swaps {
        FLAGS.set(flags);
        assert_eq!(unsafe { (libc::unlink(path), libc::mkfifo(path, 0o600)) }, (0, 0));
    }
    // Without a wait, so that a library that would wait fails the test instead.
    let flags = if swaps { flags | libc::O_NONBLOCK } else { flags };
    unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path, flags, mode) as c_int }
}

fn a_pipe_that_takes_the_files_place_while_it_is_opened_is_refused_without_a_wait() {
    let folder = Folder::new();
    let path = folder.path("a.caffemodel");
    std::fs::write(&path, layer("ip", "InnerProduct", &[])).unwrap();
    SWAPPED.set(true);
    assert_eq!(open(&path).err(), Some(SYNCEDMEM_ERROR_FILE), "{}", last_error());
    assert!(last_error().contains("is a folder, a pipe or a device; name a regular file"), "{}", last_error());
    let wanted = libc::O_NONBLOCK | libc::O_CLOEXEC;
    assert_eq!(FLAGS.get() & wanted, wanted);
}

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
    a_pipe_that_takes_the_files_place_while_it_is_opened_is_refused_without_a_wait,
    what_is_no_regular_file_is_refused_without_a_wait,
    a_file_that_is_not_there_or_not_readable_is_named_with_the_systems_reason,
    damaged_and_foreign_files_are_told_apart,
    names_that_c_cannot_have_end_at_their_nul,
];
