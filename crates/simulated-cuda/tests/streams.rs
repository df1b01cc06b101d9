//! Asynchronous work stays in flight while streams are held, and runs in order when they are not.

mod support;

use std::time::Duration;

use support::*;

/// `SIMCUDA_UNTIL_IT_IS_WAITED_FOR` of the header.
const UNTIL_IT_IS_WAITED_FOR: u32 = u32::MAX;

#[test]
fn work_that_is_put_off_starts_when_a_thread_waits_for_it_or_for_what_comes_after_it() {
    let simulator = Simulator::fresh();
    let (device, other) = (simulator.device_block(512), simulator.device_block(512));
    let (first, second, event) = (simulator.stream(NON_BLOCKING), simulator.stream(NON_BLOCKING), simulator.event());
    simulator.control.simcuda_set_lag(UNTIL_IT_IS_WAITED_FOR);
    assert_eq!(simulator.cuMemsetD8Async(device, 1, 512, first), SUCCESS);
    assert_eq!(simulator.cuEventRecord(event, first), SUCCESS);
    assert_eq!(simulator.cuStreamWaitEvent(second, event, 0), SUCCESS);
    assert_eq!(simulator.cuMemsetD8Async(other, 2, 512, first), SUCCESS);
    std::thread::sleep(Duration::from_millis(2));
    assert_eq!([first, second].map(|stream| simulator.cuStreamQuery(stream)), [NOT_READY; 2]);
    assert_eq!(simulator.cuStreamSynchronize(second), SUCCESS);
    assert_eq!((simulator.peek(device, 1), simulator.cuEventQuery(event)), (vec![1], SUCCESS));
    assert_eq!((simulator.peek(other, 1), simulator.cuStreamQuery(first)), (vec![0xCD], NOT_READY), "it is later");
    simulator.control.simcuda_release_streams();
    while simulator.cuStreamQuery(first) != SUCCESS {
        std::thread::yield_now();
    }
    assert_eq!(simulator.peek(other, 1), [2]);
}

#[test]
fn work_that_is_put_off_starts_when_work_that_is_not_is_queued_behind_it() {
    let simulator = Simulator::fresh();
    let (device, stream) = (simulator.device_block(512), simulator.stream(0));
    simulator.control.simcuda_set_lag(UNTIL_IT_IS_WAITED_FOR);
    assert_eq!(simulator.cuMemsetD8_v2(device, 1, 512), SUCCESS);
    assert_eq!((simulator.peek(device, 1), simulator.cuStreamQuery(LEGACY)), (vec![0xCD], NOT_READY));
    simulator.control.simcuda_set_lag(0);
    assert_eq!(simulator.cuMemsetD8Async(device, 2, 256, stream), SUCCESS);
    while simulator.cuStreamQuery(stream) != SUCCESS {
        std::thread::yield_now();
    }
    assert_eq!((simulator.peek(device, 1), simulator.peek(device + 256, 1)), (vec![2], vec![1]));
}

#[test]
fn a_copy_within_the_device_does_not_keep_the_host_waiting() {
    let simulator = Simulator::fresh();
    let (from, to, stream) = (simulator.device_block(512), simulator.device_block(512), simulator.stream(0));
    simulator.control.simcuda_hold_streams();
    assert_eq!(simulator.cuMemsetD8Async(from, 1, 512, stream), SUCCESS);
    assert_eq!(simulator.cuMemcpy(to, from, 512), SUCCESS);
    assert_eq!(simulator.peek(to, 1), [0xCD]);
    simulator.control.simcuda_release_streams();
    assert_eq!(simulator.cuStreamSynchronize(LEGACY), SUCCESS);
    assert_eq!(simulator.peek(to, 1), [1]);
}
