//! Work that the library does by itself while a program captures a CUDA graph leaves the capture intact.

use crate::support::captures::*;
use crate::support::pools::*;
use crate::support::*;

const BYTES: usize = 5000;

/// Runs the library's own work while `capture` goes on, on this thread and on another.
fn beside(gpu: &Gpu, flags: u32, mode: i32, what: &str, work: impl Fn() + Send + Sync) {
    for elsewhere in [false, true] {
        let capture = Capture::new(gpu, flags, mode);
        if elsewhere {
            std::thread::scope(|threads| threads.spawn(|| gpu.within(0, &work)).join().unwrap());
        } else {
            gpu.within(0, &work);
        }
        assert_eq!(capture.status(), ACTIVE, "{what}, flags {flags}, mode {mode}, elsewhere {elsewhere}");
        assert!(capture.end(), "{what}, flags {flags}, mode {mode}, elsewhere {elsewhere}");
    }
}

const CAPTURES: [(u32, i32); 4] =
    [(NON_BLOCKING, GLOBAL), (NON_BLOCKING, THREAD_LOCAL), (BLOCKING, GLOBAL), (BLOCKING, RELAXED)];

/// What the library does as the capture goes on: its name, and the work, with a stream of the program's.
type Work = (&'static str, fn(&Gpu, usize));

const WITHOUT_POOLS: [Work; 3] = [
    ("device blocks", |_, _| drop(on_device(BYTES))),
    ("page-locked blocks", |_, _| drop(on_host(BYTES))),
    ("a push to another stream", |_, stream| {
        let mut object = on_host(BYTES);
        let status = object.push(std::ptr::with_exposed_provenance_mut(stream));
        assert_eq!((status, object.wait()), (SYNCEDMEM_SUCCESS, SYNCEDMEM_SUCCESS), "{}", last_error());
    }),
];

#[test(alone_with_driver, POOLS)]
fn without_pools_objects_come_and_go_beside_a_capture() {
    let gpu = &gpu();
    set_pools(false);
    for (flags, mode) in CAPTURES {
        let stream = gpu.stream();
        let handle = stream.handle().expose_provenance();
        for (what, work) in WITHOUT_POOLS {
            beside(gpu, flags, mode, what, || work(gpu, handle));
        }
        // One block from before is given back here, and one on the other thread.
        let older: Vec<_> = (0..2).map(|_| std::sync::Mutex::new(Some(gpu.within(0, || on_device(BYTES))))).collect();
        beside(gpu, flags, mode, "the end of an older block", || {
            let object = older.iter().find_map(|object| object.lock().unwrap().take());
            drop(object.unwrap());
        });
    }
    assert_eq!(alive(gpu).map_or(0, |alive| alive.device_blocks), 0);
}

#[test(alone_with_driver, POOLS)]
fn with_pools_blocks_come_and_go_beside_a_capture_that_the_default_stream_tells_of() {
    let gpu = &gpu();
    // They would wait for a synchronise, which the capture forbids.
    let lay_down = || gpu.within(0, || drop([on_device(BYTES), on_device(BYTES)]));
    for mode in [GLOBAL, THREAD_LOCAL, RELAXED] {
        lay_down();
        beside(gpu, BLOCKING, mode, "an allocation", || drop(on_device(BYTES)));
        lay_down();
        beside(gpu, BLOCKING, mode, "a trim", || trim(ALL));
    }
}

#[test(alone_with_driver, POOLS)]
fn a_threads_capture_mode_is_left_as_it_was_whatever_fails() {
    let gpu = &simulated_gpu();
    let exchange = |mut mode: i32| {
        assert_eq!(gpu.cuThreadExchangeStreamCaptureMode(&mut mode), 0);
        mode
    };
    assert_eq!(exchange(THREAD_LOCAL), GLOBAL);
    for function in ["cuMemAlloc_v2", "cuMemFree_v2", "cuMemHostAlloc", "cuMemFreeHost", "cuCtxSynchronize"] {
        for status in [2, 1, 719, 4242] {
            gpu.within(0, || {
                let _pinning = Pinning::always();
                gpu.control().simcuda_clear_log();
                gpu.fail(function, 1, status);
                let mut object = filled(BYTES, 1);
                let _ = object.gpu_data();
                drop(object);
                let _ = Object::new(BYTES).overwrite_gpu_data();
                trim(ALL);
                assert!(gpu.has_failed(function, status), "{function} was not called");
                gpu.control().simcuda_clear_faults();
                assert_eq!(exchange(THREAD_LOCAL), THREAD_LOCAL, "{function}");
            });
        }
    }
    let work = || _ = filled(BYTES, 1).gpu_data();
    let ((), calls) = gpu.watch(work);
    for fault in faults(&calls, &[4242]).filter(|fault| fault.function == "cuThreadExchangeStreamCaptureMode") {
        for times in [1, 2, 3] {
            gpu.fail_times(fault.function, fault.nth, fault.status, times);
            work();
            gpu.control().simcuda_clear_faults();
            // The next use restores a mode that could not be restored at once.
            work();
            assert_eq!(exchange(THREAD_LOCAL), THREAD_LOCAL, "{fault}, {times} times");
        }
    }
}
