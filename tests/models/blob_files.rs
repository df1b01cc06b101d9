//! Files of one blob: `.binaryproto`.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::reading_faults::{self, Fault};
use crate::support::blob::*;
use crate::support::*;
use crate::wire::{bytes, f32_bytes, layer, legacy, shape};

fn string(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap()
}

fn read(blob: &Blob, path: &Path) -> syncedmem_status_t {
    unsafe { syncedmem_blob_read(blob.0, string(path).as_ptr()) }
}

fn write(blob: &Blob, diff: bool, path: &Path) -> syncedmem_status_t {
    unsafe { syncedmem_blob_write(blob.0, diff, string(path).as_ptr()) }
}

#[test]
fn what_is_written_is_read_again() {
    fn of<T: Copy + PartialEq + std::fmt::Debug>(element: syncedmem_type_t, values: [T; 6]) {
        let folder = Folder::new();
        for (diff, head) in [(false, SYNCEDMEM_UNINITIALIZED), (true, SYNCEDMEM_HEAD_AT_CPU)] {
            let mut blob = Blob::of(element, &[2, 1, 3]);
            [DATA, DIFF].into_iter().for_each(|array| blob.write(array, &values));
            let path = folder.path("a.binaryproto");
            assert_eq!(write(&blob, diff, &path), SYNCEDMEM_SUCCESS, "{}", last_error());
            let again = Blob::unshaped(element).unwrap();
            assert_eq!(read(&again, &path), SYNCEDMEM_SUCCESS, "{}", last_error());
            assert_eq!(
                (again.shape(), again.read::<T>(DATA), again.head(DIFF)),
                (vec![2, 1, 3], values.to_vec(), head)
            );
        }
    }
    of(SYNCEDMEM_FLOAT32, [1f32, -2.5, 3.0, 4.0, f32::INFINITY, 6.0]);
    of(SYNCEDMEM_FLOAT64, [0.1f64, -2.5, 3.0, 4.0, f64::MAX, 6.0]);
}

#[test]
fn a_mean_image_is_read_into_memory_that_blobs_share() {
    let folder = Folder::new();
    let path = folder.source("mean.binaryproto", "");
    std::fs::write(&path, [legacy(&[1, 3, 1, 2]), bytes(5, f32_bytes(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))].concat())
        .unwrap();
    let blob = Blob::new(&[8]);
    let mut other = Blob::new(&[8]);
    other.share(DATA, &blob).unwrap();
    let memory = blob.memory(DATA).unwrap();
    assert_eq!(read(&blob, &path), SYNCEDMEM_SUCCESS, "{}", last_error());
    assert_eq!((blob.shape(), blob.memory(DATA).unwrap()), (vec![1, 3, 1, 2], memory));
    assert_eq!(other.read::<f32>(DATA), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0, 0.0]);
}

#[test]
fn a_failure_leaves_shape_memory_and_contents() {
    let folder = Folder::new();
    let mut large = Blob::new(&[30_000]);
    large.write(DATA, &[5f32; 30_000]);
    let path = folder.path("large");
    assert_eq!(write(&large, false, &path), SYNCEDMEM_SUCCESS);
    std::fs::write(folder.path("net.caffemodel"), layer("a", "Scale", &[])).unwrap();
    std::fs::write(folder.path("axes"), [bytes(5, []), shape(&[0; 33])].concat()).unwrap();
    std::fs::write(folder.path("short"), [bytes(5, f32_bytes(&[1.0])), shape(&[2])].concat()).unwrap();
    let mut blob = Blob::new(&[2]);
    blob.write(DATA, &[1f32, 2.0]);
    let memory = blob.memory(DATA).unwrap();
    let same = |status, expected| {
        assert_eq!(status, expected, "{}", last_error());
        assert_eq!((blob.shape(), blob.memory(DATA).unwrap()), (vec![2], memory));
        assert_eq!(blob.read::<f32>(DATA), [1.0, 2.0]);
    };
    same(read(&blob, &folder.path("none")), SYNCEDMEM_ERROR_FILE);
    same(read(&blob, &folder.path("net.caffemodel")), SYNCEDMEM_ERROR_UNSUPPORTED);
    same(read(&blob, &folder.path("axes")), SYNCEDMEM_ERROR_UNSUPPORTED);
    same(read(&blob, &folder.path("short")), SYNCEDMEM_ERROR_FORMAT);
    same(reading_faults::with(Fault::Breaks { after: 100_000 }, || read(&blob, &path)), SYNCEDMEM_ERROR_FILE);
    let integers = Blob::of(SYNCEDMEM_INT32, &[2]);
    assert_eq!(read(&integers, &path), SYNCEDMEM_ERROR_INVALID_ARGUMENT);
    assert_eq!(integers.shape(), [2]);
    assert_eq!(read(&blob, &path), SYNCEDMEM_SUCCESS);
    assert_eq!(blob.read::<f32>(DATA), [5.0; 30_000]);
}

#[test]
fn what_cannot_be_written_is_refused_and_the_old_file_stays() {
    let folder = Folder::new();
    let path = folder.source("old", "old");
    assert_eq!(write(&Blob::unshaped(SYNCEDMEM_FLOAT32).unwrap(), false, &path), SYNCEDMEM_ERROR_INVALID_STATE);
    assert_eq!(write(&Blob::of(SYNCEDMEM_INT32, &[1]), false, &path), SYNCEDMEM_ERROR_UNSUPPORTED);
    assert_eq!(write(&Blob::new(&[1]), false, &folder.path("none/new")), SYNCEDMEM_ERROR_FILE);
    assert_eq!(write(&Blob::new(&[1]), false, &folder), SYNCEDMEM_ERROR_FILE);
    assert!(last_error().starts_with("syncedmem_blob_write: "), "{}", last_error());
    assert_eq!(
        unsafe { syncedmem_blob_write(std::ptr::null(), false, c"a".as_ptr()) },
        SYNCEDMEM_ERROR_INVALID_ARGUMENT
    );
    assert_eq!(unsafe { syncedmem_blob_read(Blob::new(&[1]).0, std::ptr::null()) }, SYNCEDMEM_ERROR_INVALID_ARGUMENT);
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    assert_eq!(folder.names(), ["old"]);
}

#[test(alone)]
fn a_limit_on_the_length_of_files_is_an_error_and_the_programs_signals_are_as_before() {
    let folder = Folder::new();
    let path = folder.source("old", "old");
    let mut blob = Blob::new(&[100_000]);
    blob.write(DATA, &[1f32; 100_000]);
    let limit = |bytes| libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
    // SIGXFSZ has its default here, which ends the process.
    assert_eq!(unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_DFL) }, libc::SIG_DFL);
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit(64 << 10)) }, 0);
    let written = write(&blob, false, &path);
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit(libc::RLIM_INFINITY)) }, 0);
    assert_eq!(written, SYNCEDMEM_ERROR_FILE);
    assert!(last_error().contains("raise the limit of a file's length (ulimit -f)"), "{}", last_error());
    assert_eq!((std::fs::read(&path).unwrap(), folder.names()), (b"old".to_vec(), vec!["old".to_string()]));
    let [mut blocked, mut pending]: [libc::sigset_t; 2] = unsafe { std::mem::zeroed() };
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &mut blocked) };
    unsafe { libc::sigpending(&mut pending) };
    let has = |set| unsafe { libc::sigismember(set, libc::SIGXFSZ) };
    assert_eq!((has(&blocked), has(&pending)), (0, 0));
    assert_eq!(unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_DFL) }, libc::SIG_DFL);
}
