//! While a program captures a CUDA graph, a stream that is captured is refused, and what the library does by itself leaves the
//! capture as it is.
#![expect(
    clippy::undocumented_unsafe_blocks,
    clippy::multiple_unsafe_ops_per_block,
    clippy::unwrap_used,
    reason = "a test plays the foreign caller, and answers for what it passes"
)]

mod support;

use support::driver::{self, Handle};
use support::gpu::*;
use support::object::*;
use support::pools::*;
use support::*;
use syncedmem::ffi::c::transfer::*;
use syncedmem::ffi::status::syncedmem_status_t;

const BYTES: usize = 5000;
const LARGE: usize = 3 * MIB;

/// What a stream is made with.
const BLOCKING: u32 = 0;
const NON_BLOCKING: u32 = 1;

/// How a thread captures.
const GLOBAL: i32 = 0;
const THREAD_LOCAL: i32 = 1;
const RELAXED: i32 = 2;

const ACTIVE: i32 = 1;

/// A stream of device 0 that is captured on this thread, until `end`.
struct Capture<'g> {
    gpu: &'g Gpu,
    stream: Handle,
}

impl<'g> Capture<'g> {
    fn new(gpu: &'g Gpu, flags: u32, mode: i32) -> Capture<'g> {
        let mut stream = std::ptr::null_mut();
        gpu.within(0, || {
            assert_eq!(gpu.cuStreamCreate(&mut stream, flags), 0);
            assert_eq!(gpu.cuStreamBeginCapture_v2(stream, mode), 0);
        });
        Capture { gpu, stream }
    }

    fn status(&self) -> i32 {
        let mut status = -1;
        self.gpu.within(0, || assert_eq!(self.gpu.cuStreamIsCapturing(self.stream, &mut status), 0));
        status
    }

    /// Ends it, and says whether it made a graph.
    fn end(self) -> bool {
        let mut graph = std::ptr::null_mut();
        self.gpu.within(0, || {
            let status = self.gpu.cuStreamEndCapture(self.stream, &mut graph);
            assert_eq!(self.gpu.cuStreamDestroy_v2(self.stream), 0);
            assert_eq!(status == 0, !graph.is_null());
            status == 0 && self.gpu.cuGraphDestroy(graph) == 0
        })
    }
}

/// As `alone_with_pools`, on any driver: what is true of captures a real one alone knows.
fn on_any_driver<F: FnOnce(&Gpu)>(environment: &[(&str, &str)], body: F) -> String {
    let environment: Vec<_> = environment.iter().copied().chain([("SYNCEDMEM_TEST_POOLS", "on")]).collect();
    in_a_process_with_a_driver(&test_of::<F>(), &environment, || body(&gpu()))
}

/// What is alive in the driver, where that can be known.
fn alive(gpu: &Gpu) -> Option<driver::Account> {
    gpu.is_simulated().then(|| gpu.alive())
}

/// A call that takes a stream.
type Take = fn(&mut Object, Handle) -> syncedmem_status_t;

const STREAM_CALLS: [(&str, Take); 4] = [
    ("push", |object, stream| object.push(stream)),
    ("pull", |object, stream| object.pull(stream)),
    ("record_stream", |object, stream| unsafe { syncedmem_record_stream(object.mem(), stream.cast()) }),
    ("stream_wait", |object, stream| unsafe { syncedmem_stream_wait(object.mem(), stream.cast()) }),
];

/// An object that `call` would do something with.
fn ready_for(call: &str) -> Object {
    let mut object = filled(BYTES, 1);
    object.gpu_data().unwrap();
    match call {
        "push" => drop(object.mutable_cpu_data().unwrap()),
        "pull" => drop(object.mutable_gpu_data().unwrap()),
        _ => (),
    }
    object
}

#[track_caller]
fn says_what_to_do() {
    let error = last_error();
    for part in ["captured", "CUDA graph", "end the capture"] {
        assert!(error.contains(part), "{part:?} is not in {error:?}");
    }
}

fn a_stream_that_is_captured_is_refused_and_nothing_is_changed() {
    on_any_driver(&[], |gpu| {
        for (flags, mode) in [(NON_BLOCKING, GLOBAL), (NON_BLOCKING, RELAXED), (BLOCKING, THREAD_LOCAL)] {
            for is_current in [true, false] {
                for (name, call) in STREAM_CALLS {
                    let mut object = gpu.within(0, || ready_for(name));
                    let before = (object.head(), object.host_address(), object.device_address(), alive(gpu));
                    let capture = Capture::new(gpu, flags, mode);
                    let stream = capture.stream;
                    let status = if is_current {
                        gpu.within(0, || call(&mut object, stream))
                    } else {
                        call(&mut object, stream)
                    };
                    assert_eq!(status, SYNCEDMEM_ERROR_INVALID_ARGUMENT, "{name}: {}", last_error());
                    says_what_to_do();
                    let now = alive(gpu).map(|now| driver::Account { streams: now.streams - 1, ..now });
                    assert_eq!((object.head(), object.host_address(), object.device_address(), now), before, "{name}");
                    assert_eq!(object.is_ready(), Ok(true), "{name}: something is in flight");
                    assert!(capture.end(), "{name}: the capture was invalidated");
                }
            }
        }
    });
}

fn a_push_to_a_captured_stream_makes_no_device_block() {
    on_any_driver(&[], |gpu| {
        let mut object = filled(BYTES, 1);
        let capture = Capture::new(gpu, NON_BLOCKING, GLOBAL);
        let before = alive(gpu);
        assert_eq!(gpu.within(0, || object.push(capture.stream)), SYNCEDMEM_ERROR_INVALID_ARGUMENT);
        assert_eq!((alive(gpu), object.device_address()), (before, 0));
        assert!(capture.end());
    });
}

fn the_default_stream_is_refused_while_a_stream_that_it_waits_for_is_captured() {
    on_any_driver(&[], |gpu| {
        for (name, call) in STREAM_CALLS {
            for legacy in [0, 1] {
                let legacy: Handle = std::ptr::without_provenance_mut(legacy);
                gpu.within(0, || {
                    let mut object = ready_for(name);
                    let before = object.head();
                    let capture = Capture::new(gpu, BLOCKING, GLOBAL);
                    let status = call(&mut object, legacy);
                    // There is nothing to do where it is to wait for itself.
                    let expected =
                        if name == "stream_wait" { SYNCEDMEM_SUCCESS } else { SYNCEDMEM_ERROR_INVALID_ARGUMENT };
                    assert_eq!(status, expected, "{name}: {}", last_error());
                    if status != SYNCEDMEM_SUCCESS {
                        says_what_to_do();
                        assert_eq!(object.head(), before, "{name}");
                    }
                    assert!(capture.end(), "{name}: the capture was invalidated");
                });
            }
        }
    });
}

fn another_stream_may_not_wait_for_the_default_stream_of_a_capture() {
    on_any_driver(&[], |gpu| {
        let stream = gpu.stream();
        let mut object = gpu.within(0, || ready_for("stream_wait"));
        let capture = Capture::new(gpu, BLOCKING, GLOBAL);
        let status = gpu.within(0, || unsafe { syncedmem_stream_wait(object.mem(), stream.handle().cast()) });
        assert_ne!(status, SYNCEDMEM_SUCCESS);
        says_what_to_do();
        assert!(capture.end());
    });
}

/// What the library does by itself while `capture` goes on, on this thread and on another.
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

/// A device block whose contents nobody asks for, so that nothing is filled.
fn block_alone(bytes: usize) -> Object {
    let mut object = Object::new(bytes);
    object.overwrite_gpu_data().unwrap_or_else(|status| panic!("{status:?}: {}", last_error()));
    object
}

fn without_pools_blocks_come_and_go_beside_a_capture() {
    on_any_driver(&[], |gpu| {
        set_pools(false);
        for (flags, mode) in CAPTURES {
            beside(gpu, flags, mode, "device blocks", || drop(block_alone(BYTES)));
            beside(gpu, flags, mode, "page-locked blocks", || {
                let _pinning = Pinning::always();
                drop(filled(BYTES, 1));
            });
            let older: Vec<_> =
                (0..2).map(|_| std::sync::Mutex::new(Some(gpu.within(0, || block_alone(BYTES))))).collect();
            beside(gpu, flags, mode, "the end of an older block", || {
                let object = older.iter().find_map(|object| object.lock().unwrap().take());
                drop(object.unwrap());
            });
        }
        assert_eq!(alive(gpu).map_or(0, |alive| alive.device_blocks), 0);
    });
}

fn with_pools_that_reuse_by_event_blocks_come_and_go_beside_a_capture() {
    on_any_driver(&[("SYNCEDMEM_REUSE", "stream")], |gpu| {
        for (flags, mode) in CAPTURES {
            for _ in 0..3 {
                beside(gpu, flags, mode, "device blocks", || drop(block_alone(BYTES)));
                beside(gpu, flags, mode, "page-locked blocks", || {
                    let _pinning = Pinning::always();
                    drop(filled(BYTES, 1));
                });
            }
            beside(gpu, flags, mode, "a trim", || trim(ALL));
        }
    });
}

fn with_pools_blocks_come_and_go_beside_a_capture_that_the_default_stream_tells_of() {
    on_any_driver(&[], |gpu| {
        // They wait for a synchronise that must not be.
        let lay_down = || gpu.within(0, || drop([block_alone(BYTES), block_alone(BYTES)]));
        for mode in [GLOBAL, THREAD_LOCAL, RELAXED] {
            lay_down();
            beside(gpu, BLOCKING, mode, "an allocation", || drop(block_alone(BYTES)));
            lay_down();
            beside(gpu, BLOCKING, mode, "a trim", || trim(ALL));
        }
    });
}

fn once_a_capture_was_seen_no_context_is_waited_for() {
    on_any_driver(&[], |gpu| {
        gpu.within(0, || drop([block_alone(BYTES), block_alone(BYTES)]));
        // The first sign: a stream that is refused.
        let mut object = gpu.within(0, || ready_for("push"));
        let capture = Capture::new(gpu, NON_BLOCKING, GLOBAL);
        assert_eq!(object.push(capture.stream), SYNCEDMEM_ERROR_INVALID_ARGUMENT);
        assert!(capture.end());
        for mode in [GLOBAL, THREAD_LOCAL, RELAXED] {
            beside(gpu, NON_BLOCKING, mode, "an allocation", || drop(block_alone(BYTES)));
            beside(gpu, NON_BLOCKING, mode, "a trim", || trim(ALL));
        }
        let idle_before = idle(DEVICE);
        gpu.within(0, || (0..10).for_each(|_| drop(block_alone(BYTES))));
        assert_eq!(idle(DEVICE), idle_before, "blocks that nothing clears are not kept");
    });
}

fn a_context_that_is_waited_for_during_an_unknown_capture_is_said_once_and_the_block_is_there() {
    let errors = on_any_driver(&[], |gpu| {
        for _ in 0..2 {
            gpu.within(0, || drop(block_alone(BYTES)));
            let capture = Capture::new(gpu, NON_BLOCKING, GLOBAL);
            gpu.within(0, || drop(block_alone(BYTES)));
            capture.end();
        }
        beside(gpu, NON_BLOCKING, GLOBAL, "afterwards", || drop(block_alone(BYTES)));
    });
    if !inside() {
        assert_eq!(errors.lines().count(), 1, "{errors}");
        assert!(errors.contains("SYNCEDMEM_REUSE=stream"), "{errors}");
    }
}

fn memory_is_pinned_and_unpinned_beside_a_capture() {
    on_any_driver(&[], |gpu| {
        for (flags, mode) in [(BLOCKING, GLOBAL), (BLOCKING, THREAD_LOCAL), (NON_BLOCKING, GLOBAL)] {
            let lent: Vec<_> = (0..2).map(|_| std::sync::Mutex::new(vec![0u8; LARGE])).collect();
            beside(gpu, flags, mode, "pin and the end", || {
                let mut lent = lent.iter().find_map(|lent| lent.try_lock().ok()).unwrap();
                let before = alive(gpu).map(|alive| alive.registered_blocks);
                let mut object = Object::new(LARGE);
                assert_eq!(object.set_cpu_data(lent.as_mut_ptr()), SYNCEDMEM_SUCCESS);
                assert_eq!(object.pin(), SYNCEDMEM_SUCCESS, "{}", last_error());
                drop(object);
                assert_eq!(alive(gpu).map(|alive| alive.registered_blocks), before, "its owner frees it now");
            });
            beside(gpu, flags, mode, "a block of its own", || {
                let mut object = filled(BYTES, 1);
                assert_eq!(object.pin(), SYNCEDMEM_SUCCESS, "{}", last_error());
            });
        }
    });
}

fn a_copy_in_flight_is_waited_for_beside_a_capture() {
    on_any_driver(&[], |gpu| {
        let stream = gpu.stream();
        for (flags, mode) in CAPTURES {
            let objects: Vec<_> = (0..2)
                .map(|_| {
                    gpu.within(0, || {
                        let mut object = filled(BYTES, 3);
                        object.mutable_gpu_data().unwrap();
                        assert_eq!(object.pull(stream.handle()), SYNCEDMEM_SUCCESS, "{}", last_error());
                        std::sync::Mutex::new(Some(object))
                    })
                })
                .collect();
            beside(gpu, flags, mode, "a wait", || {
                let mut object = objects.iter().find_map(|object| object.lock().unwrap().take()).unwrap();
                assert!(object.is_ready().is_ok());
                assert!(all_are(object.cpu_data().unwrap(), BYTES, 3));
                assert_eq!(object.wait(), SYNCEDMEM_SUCCESS);
            });
        }
    });
}

fn a_push_to_another_stream_goes_on_beside_a_capture() {
    on_any_driver(&[], |gpu| {
        set_pools(false);
        for (flags, mode) in CAPTURES {
            let stream = gpu.stream();
            let to = stream.handle().expose_provenance();
            beside(gpu, flags, mode, "a push", || {
                let _pinning = Pinning::always();
                let mut object = filled(BYTES, 1);
                let status = object.push(std::ptr::with_exposed_provenance_mut(to));
                assert_eq!(status, SYNCEDMEM_SUCCESS, "{}", last_error());
                assert_eq!(object.wait(), SYNCEDMEM_SUCCESS);
            });
        }
    });
}

fn a_copy_of_a_thread_that_captures_says_so() {
    on_any_driver(&[], |gpu| {
        for (flags, mode) in
            [(NON_BLOCKING, GLOBAL), (NON_BLOCKING, THREAD_LOCAL), (BLOCKING, GLOBAL), (BLOCKING, RELAXED)]
        {
            gpu.within(0, || {
                let mut object = filled(BYTES, 1);
                object.gpu_data().unwrap();
                let mut on_device = filled(BYTES, 2);
                on_device.mutable_gpu_data().unwrap();
                object.mutable_cpu_data().unwrap();
                let heads = (object.head(), on_device.head());
                let capture = Capture::new(gpu, flags, mode);
                assert_eq!(object.gpu_data(), Err(SYNCEDMEM_ERROR_DRIVER), "{mode}");
                says_what_to_do();
                capture.end();
                let capture = Capture::new(gpu, flags, mode);
                assert_eq!(on_device.cpu_data(), Err(SYNCEDMEM_ERROR_DRIVER), "{mode}");
                says_what_to_do();
                capture.end();
                assert_eq!((object.head(), on_device.head()), heads);
                assert!(object.gpu_data().is_ok() && all_are(on_device.cpu_data().unwrap(), BYTES, 2));
            });
        }
    });
}

fn a_staged_copy_goes_on_beside_a_capture_or_says_so_and_leaves_it_as_it_is() {
    alone_with_pools(&[staging::EVERYTHING], |gpu| {
        gpu.within(0, || {
            for (flags, mode) in CAPTURES {
                let mut object = block_alone(LARGE);
                object.fill_host(&[1; LARGE]);
                let capture = Capture::new(gpu, flags, mode);
                if flags == BLOCKING {
                    assert_eq!(object.gpu_data(), Err(SYNCEDMEM_ERROR_DRIVER), "{mode}");
                    says_what_to_do();
                } else {
                    // It makes a ring, the first time.
                    object.mutable_gpu_data().unwrap();
                    assert!(all_are(object.cpu_data().unwrap(), LARGE, 1));
                    assert_eq!(gpu.calls_of(c"cuMemcpy"), 0);
                }
                assert_eq!(capture.status(), ACTIVE, "flags {flags}, mode {mode}");
                assert!(capture.end(), "flags {flags}, mode {mode}");
            }
        });
    });
}

fn a_threads_capture_mode_is_left_as_it_was_whatever_fails() {
    alone_with_pools(&[], |gpu| {
        let exchange = |mut mode: i32| {
            assert_eq!(gpu.cuThreadExchangeStreamCaptureMode(&mut mode), 0);
            mode
        };
        assert_eq!(exchange(THREAD_LOCAL), GLOBAL);
        for function in ["cuMemAlloc_v2", "cuMemFree_v2", "cuMemHostAlloc", "cuMemFreeHost", "cuCtxSynchronize"] {
            for status in [2, 1, 719, 4242] {
                gpu.within(0, || {
                    let _pinning = Pinning::always();
                    gpu.fail(function, 1, status);
                    let mut object = filled(BYTES, 1);
                    let _ = object.gpu_data();
                    drop(object);
                    let _ = Object::new(BYTES).overwrite_gpu_data();
                    trim(ALL);
                    gpu.control().simcuda_clear_faults();
                    assert_eq!(exchange(THREAD_LOCAL), THREAD_LOCAL, "{function}");
                });
            }
        }
    });
}

fn a_driver_without_captures_is_asked_nothing_about_them() {
    alone_with_pools(&[("SIMCUDA_FAIL", "cuStreamIsCapturing:1=500,cuThreadExchangeStreamCaptureMode:1=500")], |gpu| {
        // A call that is there and fails does not stand in the way of an allocation either.
        gpu.within(0, || drop(block_alone(BYTES)));
    });
}

support::harness::tests![
    a_stream_that_is_captured_is_refused_and_nothing_is_changed,
    a_push_to_a_captured_stream_makes_no_device_block,
    the_default_stream_is_refused_while_a_stream_that_it_waits_for_is_captured,
    another_stream_may_not_wait_for_the_default_stream_of_a_capture,
    without_pools_blocks_come_and_go_beside_a_capture,
    with_pools_that_reuse_by_event_blocks_come_and_go_beside_a_capture,
    with_pools_blocks_come_and_go_beside_a_capture_that_the_default_stream_tells_of,
    once_a_capture_was_seen_no_context_is_waited_for,
    a_context_that_is_waited_for_during_an_unknown_capture_is_said_once_and_the_block_is_there,
    memory_is_pinned_and_unpinned_beside_a_capture,
    a_copy_in_flight_is_waited_for_beside_a_capture,
    a_push_to_another_stream_goes_on_beside_a_capture,
    a_copy_of_a_thread_that_captures_says_so,
    a_staged_copy_goes_on_beside_a_capture_or_says_so_and_leaves_it_as_it_is,
    a_threads_capture_mode_is_left_as_it_was_whatever_fails,
    a_driver_without_captures_is_asked_nothing_about_them,
];
