//! The life of contexts, as far as the control functions show or change it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::sync::Barrier;

use support::*;

#[test]
fn a_broken_context_fails_every_call_until_it_is_reset() {
    let simulator = Simulator::fresh();
    let block = simulator.device_block(512);
    (simulator.simcuda_break_context)(0, 700);
    let mut address = 0;
    assert_eq!((simulator.cuMemAlloc_v2)(&mut address, 512), 700);
    assert_eq!((simulator.cuMemFree_v2)(block), 700);
    assert_eq!((simulator.cuCtxSynchronize)(), 700);
    let mut current = 0;
    assert_eq!((simulator.cuCtxGetCurrent)(&mut current), SUCCESS);
    assert_eq!(current, simulator.context);
    assert_eq!((simulator.cuDevicePrimaryCtxReset_v2)(0), SUCCESS);
    assert_eq!((simulator.cuMemAlloc_v2)(&mut address, 512), CONTEXT_IS_DESTROYED);
    let mut context = 0;
    assert_eq!((simulator.cuDevicePrimaryCtxRetain)(&mut context, 0), SUCCESS);
    assert_eq!((simulator.cuMemAlloc_v2)(&mut address, 512), SUCCESS);
}

#[test]
fn a_broken_context_does_not_disturb_another() {
    let simulator = Simulator::fresh();
    let mut other = 0;
    assert_eq!((simulator.cuCtxCreate_v2)(&mut other, 0, 1), SUCCESS);
    (simulator.simcuda_break_context)(simulator.context, 719);
    assert_eq!((simulator.cuCtxSynchronize)(), SUCCESS);
    assert_eq!((simulator.cuCtxPopCurrent_v2)(&mut other), SUCCESS);
    assert_eq!((simulator.cuCtxSynchronize)(), 719);
}

#[test]
fn work_that_is_queued_when_a_context_breaks_is_not_done() {
    let simulator = Simulator::fresh();
    let (device, pinned, stream) = (simulator.device_block(512), simulator.pinned_block(512, 5), simulator.stream(0));
    let event = simulator.event();
    (simulator.simcuda_hold_streams)();
    assert_eq!((simulator.cuMemcpyAsync)(device, pinned, 512, stream), SUCCESS);
    assert_eq!((simulator.cuEventRecord)(event, stream), SUCCESS);
    (simulator.simcuda_break_context)(simulator.context, 700);
    (simulator.simcuda_release_streams)();
    assert_eq!((simulator.cuStreamSynchronize)(stream), 700);
    // Another context can still wait for the stream to get there.
    let mut other = 0;
    assert_eq!((simulator.cuCtxCreate_v2)(&mut other, 0, 1), SUCCESS);
    assert_eq!((simulator.cuEventSynchronize)(event), SUCCESS);
    assert_eq!(simulator.peek(device, 1), [0xCD]);
}

#[test]
fn streams_and_events_that_went_with_their_context_are_errors_and_no_reason_to_abort() {
    let simulator = Simulator::fresh();
    let (stream, event) = (simulator.stream(0), simulator.event());
    assert_eq!((simulator.cuDevicePrimaryCtxReset_v2)(0), SUCCESS);
    let mut other = 0;
    assert_eq!((simulator.cuCtxCreate_v2)(&mut other, 0, 1), SUCCESS);
    assert_eq!((simulator.cuStreamSynchronize)(stream), CONTEXT_IS_DESTROYED);
    assert_eq!((simulator.cuEventDestroy_v2)(event), CONTEXT_IS_DESTROYED);
    assert_eq!(simulator.account().streams, 0);
}

#[test]
fn a_context_that_is_destroyed_with_work_queued_is_a_violation() {
    let simulator = Simulator::fresh();
    let (device, stream) = (simulator.device_block(512), simulator.stream(0));
    (simulator.simcuda_hold_streams)();
    assert_eq!((simulator.cuMemsetD8Async)(device, 1, 512, stream), SUCCESS);
    assert_eq!((simulator.cuDevicePrimaryCtxReset_v2)(0), SUCCESS);
    let violations = simulator.violations();
    assert_eq!(violations.len(), 1, "{violations:?}");
    assert!(violations[0].contains("destroyed with 1 operations queued"), "{violations:?}");
}

#[test]
fn a_reset_leaves_an_initialised_driver_with_nothing_in_it() {
    let simulator = Simulator::fresh();
    let (device, stream) = (simulator.device_block(512), simulator.stream(0));
    simulator.fail("cuMemAlloc_v2", 1, 2, 0);
    (simulator.simcuda_set_memory)(0, 4096);
    (simulator.simcuda_hold_streams)();
    assert_eq!((simulator.cuMemsetD8Async)(device, 1, 512, stream), SUCCESS);
    (simulator.simcuda_reset)();
    assert_eq!(simulator.account(), Account { size: size_of::<Account>(), ..Account::default() });
    assert_eq!((simulator.log(), simulator.violations()), (String::new(), Vec::new()));
    let mut count = 0;
    assert_eq!((simulator.cuDeviceGetCount)(&mut count), SUCCESS);
    let mut address = 0;
    assert_eq!((simulator.cuMemAlloc_v2)(&mut address, 512), INVALID_CONTEXT);
    let mut context = 0;
    assert_eq!((simulator.cuDevicePrimaryCtxRetain)(&mut context, 0), SUCCESS);
    assert_eq!((simulator.cuCtxSetCurrent)(context), SUCCESS);
    simulator.device_block(1 << 20);
}

#[test]
fn a_thread_that_had_a_context_current_before_a_reset_has_none_after_it() {
    let simulator = Simulator::fresh();
    let (before, after) = (Barrier::new(2), Barrier::new(2));
    std::thread::scope(|threads| {
        let thread = threads.spawn(|| {
            assert_eq!((simulator.cuCtxSetCurrent)(simulator.context), SUCCESS);
            before.wait();
            after.wait();
            (simulator.cuCtxSynchronize)()
        });
        before.wait();
        (simulator.simcuda_reset)();
        after.wait();
        assert_eq!(thread.join().unwrap(), INVALID_CONTEXT);
    });
}

#[test]
fn a_destroyed_context_that_is_made_current_is_a_broken_rule() {
    let simulator = Simulator::fresh();
    let mut context = 0;
    assert_eq!((simulator.cuCtxCreate_v2)(&mut context, 0, 0), SUCCESS);
    assert_eq!((simulator.cuCtxDestroy_v2)(context), SUCCESS);
    assert_eq!(simulator.violations(), [""; 0]);
    assert_eq!((simulator.cuCtxPushCurrent_v2)(context), INVALID_CONTEXT);
    assert_eq!((simulator.cuCtxSetCurrent)(context), INVALID_CONTEXT);
    assert!(simulator.violations().iter().all(|sentence| sentence.contains("made current")));
    assert_eq!(simulator.violations().len(), 2);
    assert_eq!((simulator.cuCtxPushCurrent_v2)(0x1234), INVALID_CONTEXT);
    assert_eq!(simulator.violations().len(), 2, "what never was a context is no context that was destroyed");
}
