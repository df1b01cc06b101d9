//! Every allocation of every operation fails in turn, alone and with all that follow: each time there is a status,
//! the object is as it was, and the same call succeeds afterwards. Nothing aborts.
#![expect(
    clippy::undocumented_unsafe_blocks,
    clippy::multiple_unsafe_ops_per_block,
    clippy::unwrap_used,
    reason = "a test plays the foreign caller, and answers for what it passes"
)]

mod support;

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};

use support::*;
use syncedmem::abi::c::access::*;
use syncedmem::abi::c::caffe_host::*;
use syncedmem::abi::c::object::*;
use syncedmem::abi::c::policy::*;
use syncedmem::abi::status::syncedmem_status_t;

const LARGE: usize = 4 << 20;

/// How many allocations succeed before one fails; below zero, none does.
static LEFT: AtomicIsize = AtomicIsize::new(-1);
/// Whether one has failed.
static FIRED: AtomicBool = AtomicBool::new(false);
/// Whether those after it fail too.
static FOR_GOOD: AtomicBool = AtomicBool::new(false);
/// The thread that is meant, as `pthread_self` names it.
static THREAD: AtomicIsize = AtomicIsize::new(0);

fn fails_now() -> bool {
    if LEFT.load(Ordering::Relaxed) < 0 || THREAD.load(Ordering::Relaxed) != this_thread() {
        return false;
    }
    let left = LEFT.load(Ordering::Relaxed);
    if left > 0 || !FOR_GOOD.load(Ordering::Relaxed) {
        LEFT.store(left - 1, Ordering::Relaxed);
    }
    FIRED.fetch_or(left == 0, Ordering::Relaxed);
    left == 0
}

fn this_thread() -> isize {
    unsafe { libc::pthread_self() as isize }
}

unsafe extern "C" {
    fn __libc_malloc(bytes: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, bytes: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, bytes: usize) -> *mut c_void;
}

fn refuse() -> *mut c_void {
    unsafe { *libc::__errno_location() = libc::ENOMEM };
    std::ptr::null_mut()
}

#[unsafe(no_mangle)]
extern "C" fn malloc(bytes: usize) -> *mut c_void {
    if fails_now() { refuse() } else { unsafe { __libc_malloc(bytes) } }
}

#[unsafe(no_mangle)]
extern "C" fn calloc(count: usize, bytes: usize) -> *mut c_void {
    if fails_now() { refuse() } else { unsafe { __libc_calloc(count, bytes) } }
}

#[unsafe(no_mangle)]
extern "C" fn realloc(block: *mut c_void, bytes: usize) -> *mut c_void {
    if fails_now() { refuse() } else { unsafe { __libc_realloc(block, bytes) } }
}

#[unsafe(no_mangle)]
extern "C" fn posix_memalign(block: *mut *mut c_void, alignment: usize, bytes: usize) -> c_int {
    let new = if fails_now() { refuse() } else { unsafe { __libc_memalign(alignment, bytes) } };
    if new.is_null() {
        return libc::ENOMEM;
    }
    unsafe { block.write(new) };
    0
}

#[unsafe(no_mangle)]
extern "C" fn mmap(at: *mut c_void, len: usize, access: c_int, flags: c_int, file: c_int, offset: i64) -> *mut c_void {
    if fails_now() {
        refuse();
        return libc::MAP_FAILED;
    }
    unsafe { libc::syscall(libc::SYS_mmap, at, len, access, flags, file, offset) as *mut c_void }
}

/// Runs `operation` in a forked child, where the library is used for the first time, with its `nth` allocation failing.
/// Whether that many were made at all.
fn with_failure(nth: isize, prepare: fn(&mut Storage), operation: fn(&mut Storage) -> syncedmem_status_t) -> bool {
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        let code = std::panic::catch_unwind(|| in_child(nth, prepare, operation)).unwrap_or(5);
        unsafe { libc::_exit(code) };
    }
    let mut status = 0;
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert!(libc::WIFEXITED(status), "allocation {nth} failed, and signal {} ended it", libc::WTERMSIG(status));
    match libc::WEXITSTATUS(status) {
        0 => true,
        1 => false,
        2 => panic!("allocation {nth} failed, and so did the same call afterwards"),
        3 => panic!("allocation {nth} failed, and the object changed"),
        4 => panic!("allocation {nth} failed, and the status was another than out of memory"),
        code => panic!("allocation {nth} failed, and then an assertion of the test's own (exit status {code})"),
    }
}

fn in_child(nth: isize, prepare: fn(&mut Storage), operation: fn(&mut Storage) -> syncedmem_status_t) -> c_int {
    let mut storage = Storage::new();
    prepare(&mut storage);
    let before = storage.0;
    THREAD.store(this_thread(), Ordering::Relaxed);
    LEFT.store(nth, Ordering::Relaxed);
    let status = operation(&mut storage);
    LEFT.store(-1, Ordering::Relaxed);
    let fired = FIRED.load(Ordering::Relaxed);
    let expected = [SYNCEDMEM_SUCCESS, SYNCEDMEM_ERROR_OUT_OF_MEMORY].contains(&status);
    match () {
        _ if !expected => 4,
        _ if status != SYNCEDMEM_SUCCESS && storage.0 != before => 3,
        _ if status != SYNCEDMEM_SUCCESS && operation(&mut storage) != SYNCEDMEM_SUCCESS => 2,
        _ if fired => 0,
        _ => 1,
    }
}

/// Fails every allocation of `operation` in turn; it must make `at_least` so many.
fn every_allocation(at_least: isize, prepare: fn(&mut Storage), operation: fn(&mut Storage) -> syncedmem_status_t) {
    // One test at a time: the switch is the process's, and a forked child takes it along.
    static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _turn = TURN.lock();
    for for_good in [false, true] {
        FOR_GOOD.store(for_good, Ordering::Relaxed);
        let mut nth = 0;
        while with_failure(nth, prepare, operation) {
            nth += 1;
            assert!(nth < 100, "an operation with this many allocations?");
        }
        assert!(nth >= at_least, "only {nth} allocations were seen, so not all were failed");
    }
}

fn status(result: Result<*mut u8, syncedmem_status_t>) -> syncedmem_status_t {
    result.err().unwrap_or(SYNCEDMEM_SUCCESS)
}

fn small(storage: &mut Storage) {
    assert_eq!(storage.construct(4000), SYNCEDMEM_SUCCESS);
}

fn middling(storage: &mut Storage) {
    assert_eq!(storage.construct(100_000), SYNCEDMEM_SUCCESS);
}

fn large(storage: &mut Storage) {
    assert_eq!(storage.construct(LARGE), SYNCEDMEM_SUCCESS);
}

fn touched(storage: &mut Storage) {
    large(storage);
    assert!(storage.cpu_data().is_ok());
}

/// An object whose device side another implementation filled.
fn synced(storage: &mut Storage) {
    touched(storage);
    storage.put(8, &0x7000_0000_0000usize.to_le_bytes());
    storage.put(24, &3u32.to_le_bytes());
}

#[test]
fn create_and_destroy() {
    every_allocation(
        1,
        |_| (),
        |_| {
            let mut mem = std::ptr::null_mut();
            let status = unsafe { syncedmem_create(8, &mut mem) };
            assert_eq!(mem.is_null(), status != SYNCEDMEM_SUCCESS);
            assert_eq!(unsafe { syncedmem_destroy(mem) }, SYNCEDMEM_SUCCESS);
            status
        },
    );
}

#[test]
fn construct() {
    every_allocation(0, |_| (), |storage| storage.construct(8));
}

#[test]
fn first_touch_of_a_small_object() {
    every_allocation(1, small, |storage| status(storage.cpu_data()));
    every_allocation(1, small, |storage| status(storage.mutable_cpu_data()));
    every_allocation(1, small, |storage| status(storage.overwrite_cpu_data()));
}

#[test]
fn first_touch_of_a_middling_object() {
    every_allocation(2, middling, |storage| status(storage.cpu_data()));
    every_allocation(2, middling, |storage| status(storage.mutable_cpu_data()));
    every_allocation(2, middling, |storage| status(storage.overwrite_cpu_data()));
}

#[test]
fn first_touch_of_a_large_object() {
    every_allocation(3, large, |storage| status(storage.cpu_data()));
    every_allocation(3, large, |storage| status(storage.mutable_cpu_data()));
    every_allocation(3, large, |storage| status(storage.overwrite_cpu_data()));
}

#[test]
fn later_touches() {
    every_allocation(0, touched, |storage| status(storage.cpu_data()));
    every_allocation(0, touched, |storage| status(storage.mutable_cpu_data()));
    every_allocation(0, synced, |storage| status(storage.mutable_cpu_data()));
}

#[test]
fn set_cpu_data() {
    static BUFFER: [u8; LARGE] = [0; LARGE];
    every_allocation(1, large, |storage| storage.set_cpu_data(BUFFER.as_ptr().cast_mut()));
    every_allocation(0, touched, |storage| storage.set_cpu_data(BUFFER.as_ptr().cast_mut()));
}

#[test]
fn release_cpu() {
    every_allocation(0, synced, |storage| storage.release_cpu());
}

#[test]
fn resize() {
    every_allocation(1, large, |storage| {
        let object: *const syncedmem::object::SyncedMemory = storage.mem().cast();
        match unsafe { (*object).resize(2 * LARGE) } {
            Ok(()) => SYNCEDMEM_SUCCESS,
            Err(error) => error.into(),
        }
    });
}

#[test]
fn destruct() {
    every_allocation(0, touched, |storage| {
        let status = storage.destruct();
        large(storage);
        status
    });
}

#[test]
fn caffe_malloc_host() {
    every_allocation(
        1,
        |_| (),
        |_| {
            let (mut data, mut pinned) = (std::ptr::null_mut(), false);
            let status = unsafe { CaffeMallocHost(&mut data, 4000, &mut pinned) };
            assert_eq!(unsafe { CaffeFreeHost(data, pinned) }, SYNCEDMEM_SUCCESS);
            status
        },
    );
}

#[test]
fn set_error_callback() {
    every_allocation(1, |_| (), |_| unsafe { syncedmem_set_error_callback(None, std::ptr::null_mut()) });
}

#[test]
fn a_failure_has_its_status_even_when_there_is_no_memory_to_keep_its_sentence() {
    driver::hide_devices();
    every_allocation(1, small, |storage| {
        let mut data = std::ptr::null();
        let status = unsafe { syncedmem_gpu_data(storage.mem(), &mut data) };
        assert_eq!((status, data.is_null()), (SYNCEDMEM_ERROR_NO_GPU, true));
        SYNCEDMEM_SUCCESS
    });
}
