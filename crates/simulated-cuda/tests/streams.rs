//! Asynchronous work stays in flight while streams are held, and runs in order when they are not.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{Duration, Instant};

use support::*;

#[test]
fn an_operation_of_a_held_stream_does_not_start_until_it_is_released() {
    let simulator = Simulator::fresh();
    let (device, pinned, stream) = (simulator.device_block(512), simulator.pinned_block(512, 5), simulator.stream(0));
    (simulator.simcuda_hold_streams)();
    assert_eq!((simulator.cuMemcpyAsync)(device, pinned, 512, stream), SUCCESS);
    assert_eq!((simulator.cuStreamQuery)(stream), NOT_READY);
    assert_eq!(simulator.peek(device, 1), [0xCD]);
    (simulator.simcuda_release_streams)();
    assert_eq!((simulator.cuStreamSynchronize)(stream), SUCCESS);
    assert_eq!((simulator.cuStreamQuery)(stream), SUCCESS);
    assert_eq!(simulator.peek(device, 512), vec![5; 512]);
}

#[test]
fn an_event_in_a_held_stream_that_has_nothing_to_do_is_not_reached_either() {
    let simulator = Simulator::fresh();
    let (event, stream) = (simulator.event(), simulator.stream(NON_BLOCKING));
    (simulator.simcuda_hold_streams)();
    assert_eq!((simulator.cuEventRecord)(event, stream), SUCCESS);
    assert_eq!((simulator.cuEventQuery)(event), NOT_READY);
    (simulator.simcuda_release_streams)();
    assert_eq!((simulator.cuEventSynchronize)(event), SUCCESS);
}

#[test]
fn a_copy_to_pageable_memory_returns_when_it_is_done() {
    let simulator = Simulator::fresh();
    let (device, stream) = (simulator.device_block(512), simulator.stream(0));
    let host = vec![0; 512];
    (simulator.simcuda_hold_streams)();
    let returned = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            assert_eq!((simulator.cuCtxSetCurrent)(simulator.context), SUCCESS);
            assert_eq!((simulator.cuMemcpyAsync)(address_of(&host), device, 512, stream), SUCCESS);
            returned.store(true, Ordering::Release);
        });
        // The copy is queued as soon as the stream has something to do.
        while (simulator.cuStreamQuery)(stream) != NOT_READY {
            std::thread::yield_now();
        }
        assert!(!returned.load(Ordering::Acquire));
        (simulator.simcuda_release_streams)();
    });
    assert_eq!(host, vec![0xCD; 512]);
}

#[test]
fn an_operation_starts_no_earlier_than_the_lag_after_it_was_queued() {
    let simulator = Simulator::fresh();
    let (device, stream) = (simulator.device_block(512), simulator.stream(NON_BLOCKING));
    (simulator.simcuda_set_lag)(20_000);
    let start = Instant::now();
    assert_eq!((simulator.cuMemsetD8Async)(device, 1, 512, stream), SUCCESS);
    assert_eq!((simulator.cuStreamSynchronize)(stream), SUCCESS);
    assert!(start.elapsed() >= Duration::from_millis(20));
}

/// `SIMCUDA_UNTIL_IT_IS_WAITED_FOR` of the header.
const UNTIL_IT_IS_WAITED_FOR: u32 = u32::MAX;

#[test]
fn work_that_is_put_off_starts_when_a_thread_waits_for_it_or_for_what_comes_after_it() {
    let simulator = Simulator::fresh();
    let (device, other) = (simulator.device_block(512), simulator.device_block(512));
    let (first, second, event) = (simulator.stream(NON_BLOCKING), simulator.stream(NON_BLOCKING), simulator.event());
    (simulator.simcuda_set_lag)(UNTIL_IT_IS_WAITED_FOR);
    assert_eq!((simulator.cuMemsetD8Async)(device, 1, 512, first), SUCCESS);
    assert_eq!((simulator.cuEventRecord)(event, first), SUCCESS);
    assert_eq!((simulator.cuStreamWaitEvent)(second, event, 0), SUCCESS);
    assert_eq!((simulator.cuMemsetD8Async)(other, 2, 512, first), SUCCESS);
    std::thread::sleep(Duration::from_millis(2));
    assert_eq!([first, second].map(|stream| (simulator.cuStreamQuery)(stream)), [NOT_READY; 2]);
    assert_eq!((simulator.cuStreamSynchronize)(second), SUCCESS);
    assert_eq!((simulator.peek(device, 1), (simulator.cuEventQuery)(event)), (vec![1], SUCCESS));
    assert_eq!((simulator.peek(other, 1), (simulator.cuStreamQuery)(first)), (vec![0xCD], NOT_READY), "it is later");
    (simulator.simcuda_release_streams)();
    while (simulator.cuStreamQuery)(first) != SUCCESS {
        std::thread::yield_now();
    }
    assert_eq!(simulator.peek(other, 1), [2]);
}

#[test]
fn work_that_is_put_off_starts_when_work_that_is_not_is_queued_behind_it() {
    let simulator = Simulator::fresh();
    let (device, stream) = (simulator.device_block(512), simulator.stream(0));
    (simulator.simcuda_set_lag)(UNTIL_IT_IS_WAITED_FOR);
    assert_eq!((simulator.cuMemsetD8_v2)(device, 1, 512), SUCCESS);
    assert_eq!((simulator.peek(device, 1), (simulator.cuStreamQuery)(LEGACY)), (vec![0xCD], NOT_READY));
    (simulator.simcuda_set_lag)(0);
    assert_eq!((simulator.cuMemsetD8Async)(device, 2, 256, stream), SUCCESS);
    while (simulator.cuStreamQuery)(stream) != SUCCESS {
        std::thread::yield_now();
    }
    assert_eq!((simulator.peek(device, 1), simulator.peek(device + 256, 1)), (vec![2], vec![1]));
}

#[test]
fn a_copy_within_the_device_does_not_keep_the_host_waiting() {
    let simulator = Simulator::fresh();
    let (from, to, stream) = (simulator.device_block(512), simulator.device_block(512), simulator.stream(0));
    (simulator.simcuda_hold_streams)();
    assert_eq!((simulator.cuMemsetD8Async)(from, 1, 512, stream), SUCCESS);
    assert_eq!((simulator.cuMemcpy)(to, from, 512), SUCCESS);
    assert_eq!(simulator.peek(to, 1), [0xCD]);
    (simulator.simcuda_release_streams)();
    assert_eq!((simulator.cuStreamSynchronize)(LEGACY), SUCCESS);
    assert_eq!(simulator.peek(to, 1), [1]);
}

#[test]
fn a_copy_between_devices_waits_for_the_work_of_both_and_theirs_for_it() {
    let simulator = Simulator::fresh();
    let (from, stream) = (simulator.device_block(512), simulator.stream(0));
    let mut other = 0;
    assert_eq!((simulator.cuCtxCreate_v2)(&mut other, 0, 1), SUCCESS);
    let (to, later) = (simulator.device_block(512), simulator.stream(0));
    assert_eq!((simulator.cuCtxPopCurrent_v2)(&mut other), SUCCESS);
    (simulator.simcuda_hold_streams)();
    assert_eq!((simulator.cuMemsetD8Async)(from, 1, 512, stream), SUCCESS);
    assert_eq!((simulator.cuCtxPushCurrent_v2)(other), SUCCESS);
    // The copy is queued in the other context, and waits for the fill in the first, whose next fill waits for the copy.
    (simulator.simcuda_set_lag)(5000);
    assert_eq!((simulator.cuMemcpy)(to, from, 512), SUCCESS);
    (simulator.simcuda_set_lag)(0);
    assert_eq!((simulator.cuMemsetD8Async)(to, 2, 256, later), SUCCESS);
    assert_eq!((simulator.cuMemsetD8Async)(from, 3, 512, stream), SUCCESS);
    assert_eq!(simulator.peek(to, 1), [0xCD]);
    (simulator.simcuda_release_streams)();
    assert_eq!((simulator.cuStreamSynchronize)(later), SUCCESS);
    assert_eq!((simulator.peek(to, 1), simulator.peek(to + 256, 1)), (vec![2], vec![1]));
}

#[test]
fn a_reset_wakes_threads_that_wait_for_a_held_stream() {
    let simulator = Simulator::fresh();
    let (device, stream) = (simulator.device_block(512), simulator.stream(0));
    (simulator.simcuda_hold_streams)();
    assert_eq!((simulator.cuMemsetD8Async)(device, 1, 512, stream), SUCCESS);
    std::thread::scope(|threads| {
        let waiting = threads.spawn(|| {
            assert_eq!((simulator.cuCtxSetCurrent)(simulator.context), SUCCESS);
            (simulator.cuStreamSynchronize)(stream)
        });
        while simulator.calls("cuStreamSynchronize") == 0 {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(2));
        (simulator.simcuda_reset)();
        assert_ne!(waiting.join().unwrap(), SUCCESS);
    });
}

static STATUS_IN_CALLBACK: AtomicI32 = AtomicI32::new(-1);

extern "C" fn call_the_driver(_: *mut c_void) {
    let mut address = 0;
    STATUS_IN_CALLBACK.store((library().cuMemAlloc_v2)(&mut address, 512), Ordering::Release);
}

#[test]
fn a_host_function_may_not_call_the_driver() {
    let simulator = Simulator::fresh();
    let stream = simulator.stream(0);
    assert_eq!((simulator.cuLaunchHostFunc)(stream, call_the_driver, std::ptr::null_mut()), SUCCESS);
    assert_eq!((simulator.cuStreamSynchronize)(stream), SUCCESS);
    assert_eq!(STATUS_IN_CALLBACK.load(Ordering::Acquire), NOT_PERMITTED);
}
