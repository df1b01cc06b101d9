//! Files that are refused: each with a status and a sentence, and none with a wait, a signal or memory beyond its size.

use std::cell::Cell;
use std::ffi::{c_char, c_int};

use crate::opened::*;
use crate::support::*;
use crate::wire::{self, layer};

thread_local! {
    static SWAPPED: Cell<bool> = const { Cell::new(false) };
    static FLAGS: Cell<c_int> = const { Cell::new(0) };
}

/// Replaces the C library's function, by whose name std opens files: puts a pipe in the file's place at the last moment.
#[unsafe(no_mangle)]
unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
    let swaps = SWAPPED.replace(false);
    if swaps {
        FLAGS.set(flags);
        assert_eq!(unsafe { (libc::unlink(path), libc::mkfifo(path, 0o600)) }, (0, 0));
    }
    // Does not wait, so that the test fails, not hangs, if the library would wait.
    let flags = if swaps { flags | libc::O_NONBLOCK } else { flags };
    unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path, flags, mode) as c_int }
}

#[test]
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

/// The tests of `crates/caffemodel` cover which files are damaged or foreign.
#[test]
fn damaged_and_foreign_files_are_told_apart() {
    let folder = Folder::new();
    let whole = layer("ip", "InnerProduct", &[wire::blob(&[4], &[1.0; 4])]);
    for (contents, status, expected) in [
        (&whole[..whole.len() - 3], SYNCEDMEM_ERROR_FORMAT, "the file ends 3 bytes too early"),
        (b"PK\x03\x04 and so on", SYNCEDMEM_ERROR_UNSUPPORTED, "zip"),
    ] {
        std::fs::write(folder.path("a.caffemodel"), contents).unwrap();
        assert_eq!(open(&folder.path("a.caffemodel")).err(), Some(status), "{}", last_error());
        let error = last_error();
        assert!(error.starts_with("syncedmem_model_open: ") && error.contains(expected), "{error}");
    }
}
