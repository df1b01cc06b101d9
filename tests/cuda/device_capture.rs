//! A stream that is captured into a CUDA graph is refused, and a copy that a capture forbids says so.

use crate::support::captures::*;
use crate::support::driver::{self, Handle};
use crate::support::pools::*;
use crate::support::*;

const BYTES: usize = 5000;

/// A call that takes a stream.
type Take = fn(&mut Object, Handle) -> syncedmem_status_t;

const STREAM_CALLS: [(&str, Take); 4] = [
    ("push", |object, stream| object.push(stream)),
    ("pull", |object, stream| object.pull(stream)),
    ("record_stream", |object, stream| unsafe { syncedmem_record_stream(object.mem(), stream.cast()) }),
    ("stream_wait", |object, stream| unsafe { syncedmem_stream_wait(object.mem(), stream.cast()) }),
];

/// An object for which `call` has work to do.
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
    assert_has(&error, &["captured", "CUDA graph", "end the capture"]);
}

#[test(alone_with_driver, POOLS)]
fn a_stream_that_is_captured_is_refused_and_nothing_is_changed() {
    let gpu = &gpu();
    for (flags, mode) in [(NON_BLOCKING, GLOBAL), (NON_BLOCKING, RELAXED), (BLOCKING, THREAD_LOCAL)] {
        for is_current in [true, false] {
            for (name, call) in STREAM_CALLS {
                let mut object = gpu.within(0, || ready_for(name));
                let before = (object.head(), object.host_address(), object.device_address(), alive(gpu));
                let capture = Capture::new(gpu, flags, mode);
                let stream = capture.stream;
                let status =
                    if is_current { gpu.within(0, || call(&mut object, stream)) } else { call(&mut object, stream) };
                assert_eq!(status, SYNCEDMEM_ERROR_INVALID_ARGUMENT, "{name}: {}", last_error());
                says_what_to_do();
                let now = alive(gpu).map(|now| driver::Account { streams: now.streams - 1, ..now });
                assert_eq!((object.head(), object.host_address(), object.device_address(), now), before, "{name}");
                assert_eq!(object.is_ready(), Ok(true), "{name}: something is in flight");
                assert!(capture.end(), "{name}: the capture was invalidated");
            }
        }
    }
}

#[test(alone_with_driver, POOLS)]
fn a_push_to_a_captured_stream_makes_no_device_block() {
    let gpu = &gpu();
    let mut object = filled(BYTES, 1);
    let capture = Capture::new(gpu, NON_BLOCKING, GLOBAL);
    let before = alive(gpu);
    assert_eq!(gpu.within(0, || object.push(capture.stream)), SYNCEDMEM_ERROR_INVALID_ARGUMENT);
    assert_eq!((alive(gpu), object.device_address()), (before, 0));
    assert!(capture.end());
}

#[test(alone_with_driver, POOLS)]
fn the_default_stream_is_refused_while_a_stream_that_it_waits_for_is_captured() {
    let gpu = &gpu();
    for (name, call) in STREAM_CALLS {
        for legacy in [0, 1] {
            let legacy: Handle = std::ptr::without_provenance_mut(legacy);
            gpu.within(0, || {
                let mut object = ready_for(name);
                let before = object.head();
                let capture = Capture::new(gpu, BLOCKING, GLOBAL);
                let status = call(&mut object, legacy);
                // A stream that would wait for itself has nothing to do.
                let expected = if name == "stream_wait" { SYNCEDMEM_SUCCESS } else { SYNCEDMEM_ERROR_INVALID_ARGUMENT };
                assert_eq!(status, expected, "{name}: {}", last_error());
                if status != SYNCEDMEM_SUCCESS {
                    says_what_to_do();
                    assert_eq!(object.head(), before, "{name}");
                }
                assert!(capture.end(), "{name}: the capture was invalidated");
            });
        }
    }
}

/// A driver may allow the copy while a non-blocking stream is captured (580 does, the simulated one does not). Then the
/// capture is unharmed.
#[test(alone_with_driver, POOLS)]
fn a_copy_of_a_thread_that_captures_says_so() {
    let gpu = &gpu();
    let ended = |status, capture: Capture<'_>, flags| match status {
        Err(status) => {
            assert_eq!(status, SYNCEDMEM_ERROR_DRIVER);
            says_what_to_do();
            capture.end();
        }
        Ok(_) => assert!(!gpu.is_simulated() && flags == NON_BLOCKING && capture.end()),
    };
    for (flags, mode) in [(NON_BLOCKING, GLOBAL), (NON_BLOCKING, THREAD_LOCAL), (BLOCKING, GLOBAL), (BLOCKING, RELAXED)]
    {
        gpu.within(0, || {
            let mut object = filled(BYTES, 1);
            object.gpu_data().unwrap();
            let mut on_device = filled(BYTES, 2);
            on_device.mutable_gpu_data().unwrap();
            object.mutable_cpu_data().unwrap();
            let heads = (object.head(), on_device.head());
            let capture = Capture::new(gpu, flags, mode);
            let to_device = object.gpu_data();
            ended(to_device, capture, flags);
            let capture = Capture::new(gpu, flags, mode);
            let to_host = on_device.cpu_data();
            ended(to_host, capture, flags);
            if to_device.is_err() && to_host.is_err() {
                assert_eq!((object.head(), on_device.head()), heads);
            }
            assert!(object.gpu_data().is_ok() && all_are(on_device.cpu_data().unwrap(), BYTES, 2));
        });
    }
}
