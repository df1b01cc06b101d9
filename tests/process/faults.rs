//! Every allocation of every operation fails in turn, alone and with all that follow: each time there is a status,
//! the object is as it was, and the same call succeeds afterwards. Nothing aborts.

use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;

use crate::allocator::*;
use crate::support::*;

const LARGE: usize = 4 << 20;

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

/// Of a size whose blocks are kept for reuse, and whose first touch makes no claim.
fn medium(storage: &mut Storage) {
    assert_eq!(storage.construct(10_000), SYNCEDMEM_SUCCESS);
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

fn construct() {
    every_allocation(0, |_| (), |storage| storage.construct(8));
}

fn first_touch_of_a_small_object() {
    every_allocation(1, small, |storage| status(storage.cpu_data()));
    every_allocation(1, small, |storage| status(storage.mutable_cpu_data()));
    every_allocation(1, small, |storage| status(storage.overwrite_cpu_data()));
}

fn first_touch_of_a_medium_object() {
    every_allocation(1, medium, |storage| status(storage.cpu_data()));
    every_allocation(1, medium, |storage| status(storage.mutable_cpu_data()));
    every_allocation(1, medium, |storage| status(storage.overwrite_cpu_data()));
}

fn first_touches_with_an_allocator_of_the_programs_own() {
    unsafe extern "C-unwind" fn allocate(bytes: usize, alignment: usize, _: *mut c_void) -> *mut c_void {
        let mut block = std::ptr::null_mut();
        unsafe { libc::posix_memalign(&mut block, alignment, bytes) };
        block
    }
    unsafe extern "C-unwind" fn release(block: *mut c_void, _: usize, _: *mut c_void) {
        unsafe { libc::free(block) };
    }
    fn set() {
        let size = size_of::<syncedmem_host_allocator_t>();
        let (allocate, release, context) = (Some(allocate as _), Some(release as _), std::ptr::null_mut());
        let table = syncedmem_host_allocator_t { size, allocate, release, context, zeroed: false };
        assert_eq!(unsafe { syncedmem_set_host_allocator(&table) }, SYNCEDMEM_SUCCESS);
    }
    // The block, its record, and the claim.
    for prepare in [small, medium, middling, large] {
        fn touch(storage: &mut Storage) -> syncedmem_status_t {
            set();
            status(storage.mutable_cpu_data())
        }
        every_allocation(3, prepare, touch);
    }
}

fn first_touch_of_a_middling_object() {
    every_allocation(2, middling, |storage| status(storage.cpu_data()));
    every_allocation(2, middling, |storage| status(storage.mutable_cpu_data()));
    every_allocation(2, middling, |storage| status(storage.overwrite_cpu_data()));
}

fn first_touch_of_a_large_object() {
    every_allocation(3, large, |storage| status(storage.cpu_data()));
    every_allocation(3, large, |storage| status(storage.mutable_cpu_data()));
    every_allocation(3, large, |storage| status(storage.overwrite_cpu_data()));
}

fn later_touches() {
    every_allocation(0, touched, |storage| status(storage.cpu_data()));
    every_allocation(0, touched, |storage| status(storage.mutable_cpu_data()));
    every_allocation(0, synced, |storage| status(storage.mutable_cpu_data()));
}

fn set_cpu_data() {
    static BUFFER: [u8; LARGE] = [0; LARGE];
    every_allocation(1, large, |storage| storage.set_cpu_data(BUFFER.as_ptr().cast_mut()));
    every_allocation(0, touched, |storage| storage.set_cpu_data(BUFFER.as_ptr().cast_mut()));
}

fn release_cpu() {
    every_allocation(0, synced, |storage| storage.release_cpu());
}

fn resize() {
    every_allocation(1, large, |storage| {
        let object: *const syncedmem::object::SyncedMemory = storage.mem().cast();
        match unsafe { (*object).resize(2 * LARGE) } {
            Ok(()) => SYNCEDMEM_SUCCESS,
            Err(error) => error.into(),
        }
    });
}

fn destruct() {
    every_allocation(0, touched, |storage| {
        let status = storage.destruct();
        large(storage);
        status
    });
}

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

fn set_error_callback() {
    every_allocation(1, |_| (), |_| unsafe { syncedmem_set_error_callback(None, std::ptr::null_mut()) });
}

fn a_failure_has_its_status_even_when_there_is_no_memory_to_keep_its_sentence() {
    driver::hide_devices();
    every_allocation(1, small, |storage| {
        let mut data = std::ptr::null();
        let status = unsafe { syncedmem_gpu_data(storage.mem(), &mut data) };
        assert_eq!((status, data.is_null()), (SYNCEDMEM_ERROR_NO_GPU, true));
        SYNCEDMEM_SUCCESS
    });
}

crate::support::harness::tests![
    create_and_destroy,
    construct,
    first_touch_of_a_small_object,
    first_touch_of_a_medium_object,
    first_touches_with_an_allocator_of_the_programs_own,
    first_touch_of_a_middling_object,
    first_touch_of_a_large_object,
    later_touches,
    set_cpu_data,
    release_cpu,
    resize,
    destruct,
    caffe_malloc_host,
    set_error_callback,
    a_failure_has_its_status_even_when_there_is_no_memory_to_keep_its_sentence,
];
