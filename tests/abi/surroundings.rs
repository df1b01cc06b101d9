//! The surroundings of a call: cancellation, fork handlers of other libraries, blocks of another implementation.

use std::ffi::c_void;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::device_status::with_library;
use crate::support::driver::simulated;
use crate::support::*;

/// Makes, touches and ends an object; returns whether all calls succeeded.
fn touch(bytes: usize) -> bool {
    let mut storage = Storage::new();
    storage.construct(bytes) == SYNCEDMEM_SUCCESS
        && storage.cpu_data().is_ok()
        && storage.destruct() == SYNCEDMEM_SUCCESS
}

type Body = extern "C-unwind" fn(*mut c_void) -> *mut c_void;

unsafe extern "C" {
    fn pthread_cancel(thread: libc::pthread_t) -> i32;
    fn pthread_testcancel();
}

/// Runs `body` on a thread, which must end where it is cancelled.
fn is_cancelled(body: Body) {
    let (mut thread, mut result) = (0, std::ptr::null_mut());
    // POSIX unwinds a cancelled thread through its start routine, which libc's type does not allow.
    type Start = extern "C" fn(*mut c_void) -> *mut c_void;
    let start = unsafe { std::mem::transmute::<Body, Start>(body) };
    let (attributes, argument) = (std::ptr::null(), std::ptr::null_mut());
    assert_eq!(unsafe { libc::pthread_create(&mut thread, attributes, start, argument) }, 0);
    assert_eq!(unsafe { libc::pthread_join(thread, &mut result) }, 0);
    assert_eq!(result, usize::MAX as *mut c_void, "PTHREAD_CANCELED");
}

#[test]
fn a_thread_that_is_cancelled_ends_behind_the_library_not_inside_it() {
    static TOUCHED: AtomicUsize = AtomicUsize::new(0);
    extern "C-unwind" fn body(_: *mut c_void) -> *mut c_void {
        // Cancellation is deferred by default: it takes effect at the next cancellation point.
        unsafe { pthread_cancel(libc::pthread_self()) };
        // This call warns on standard error that memory is not page-locked.
        let touched = touch(100);
        // This call looks for limits, to name them in the error.
        let refused = !touch(1 << 50);
        TOUCHED.store(usize::from(touched && refused), Ordering::Relaxed);
        unsafe { pthread_testcancel() };
        std::ptr::null_mut()
    }
    let errors = alone(&[("SYNCEDMEM_PIN", "always")], || {
        is_cancelled(body);
        assert_eq!(TOUCHED.load(Ordering::Relaxed), 1);
    });
    if !inside() {
        assert!(errors.contains("not page-locked"), "{errors}");
    }
}

/// Waits of a real driver are cancellation points.
#[test]
fn a_thread_that_is_cancelled_ends_behind_the_library_not_inside_the_driver() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    extern "C-unwind" fn body(_: *mut c_void) -> *mut c_void {
        unsafe { pthread_cancel(libc::pthread_self()) };
        ASKED.store(usize::from(cuda_status().0 == SYNCEDMEM_ERROR_NO_GPU), Ordering::Relaxed);
        unsafe { pthread_testcancel() };
        std::ptr::null_mut()
    }
    let make = |library: &Path| {
        let nm = Command::new("nm").args(["--dynamic", "--defined-only", "--format=posix"]).arg(simulated()).output();
        let names = String::from_utf8(nm.unwrap().stdout).unwrap();
        let names = names.lines().filter_map(|line| line.split(' ').next()).filter(|name| name.starts_with("cu"));
        // Functions that return names of statuses do not wait.
        let waits = |name: &str| if name.starts_with("cuGetError") { "" } else { "pthread_testcancel();" };
        let functions = names.map(|name| format!("int {name}(void) {{ {} return 3; }}\n", waits(name)));
        let folder = Folder::new();
        folder.source("driver.c", &functions.collect::<String>());
        folder.compile(library.to_str().unwrap(), &["-shared", "-fPIC", "driver.c"]);
    };
    with_library(make, || {
        is_cancelled(body);
        assert_eq!(ASKED.load(Ordering::Relaxed), 1);
        assert!(cuda_status().1.contains("cuInit"), "{}", cuda_status().1);
    });
}

#[test(alone)]
fn other_peoples_fork_handlers_may_use_objects() {
    static TOUCHED: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn handler() {
        // Objects of every kind of memory.
        let fine = (0..200).all(|_| touch(100) && touch(50_000)) && touch(4 << 20);
        TOUCHED.fetch_add(usize::from(fine), Ordering::Relaxed);
    }
    // This handler is registered before the library's own, so it runs while the library holds its locks.
    assert_eq!(unsafe { libc::pthread_atfork(Some(handler), Some(handler), Some(handler)) }, 0);
    assert!(touch(100));
    unsafe { libc::alarm(HANGS_AFTER) };
    in_a_child(|| assert_eq!(TOUCHED.load(Ordering::Relaxed), 2));
    assert_eq!(TOUCHED.load(Ordering::Relaxed), 2);
}

#[test]
fn a_block_of_no_bytes_may_be_written_as_mallocs_may() {
    let mut storage = Storage::new();
    storage.construct(0);
    unsafe { storage.mutable_cpu_data().unwrap().write(1) };
    storage.destruct();
}

#[test]
fn another_implementations_block_makes_no_room_under_the_limit() {
    const BYTES: usize = 1 << 20;
    alone(&[("SYNCEDMEM_HOST_LIMIT", "2M")], || {
        for _ in 0..4 {
            let mut foreign = Storage::new();
            foreign.construct(BYTES);
            let block = unsafe { libc::malloc(BYTES) };
            foreign.put(0, &block.addr().to_le_bytes());
            foreign.put(24, &1u32.to_le_bytes());
            foreign.put(28, &[1, 0, 0]);
            assert_eq!(foreign.destruct(), SYNCEDMEM_SUCCESS);
        }
        let mut objects: Vec<_> = (0..3).map(|_| Storage::new()).collect();
        let given = objects.iter_mut().filter_map(|storage| {
            storage.construct(BYTES);
            storage.cpu_data().ok()
        });
        assert_eq!(given.count(), 2);
    });
}
