//! Captures, as far as the control functions show them; the rest is in the conformance suite.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use support::*;

const UNSUPPORTED: i32 = 900;
const BYTES: usize = 512;

fn begin(simulator: &Simulator, flags: u32) -> Handle {
    let stream = simulator.stream(flags);
    assert_eq!((simulator.cuStreamBeginCapture_v2)(stream, 0), SUCCESS);
    stream
}

#[test]
fn a_graph_does_what_was_captured_each_time_that_it_is_launched() {
    let simulator = Simulator::fresh();
    let (block, pinned) = (simulator.device_block(BYTES), simulator.pinned_block(BYTES, 7));
    let stream = begin(&simulator, NON_BLOCKING);
    assert_eq!((simulator.cuMemcpyAsync)(block, pinned, BYTES, stream), SUCCESS);
    let (mut graph, mut executable) = (0, 0);
    assert_eq!((simulator.cuStreamEndCapture)(stream, &mut graph), SUCCESS);
    assert_eq!(simulator.copies("HtoD", BYTES), 0);
    assert_eq!((simulator.cuGraphInstantiateWithFlags)(&mut executable, graph, 0), SUCCESS);
    assert_eq!((simulator.cuGraphDestroy)(graph), SUCCESS);
    for value in [7, 8] {
        fill(pinned, value, BYTES);
        assert_eq!((simulator.cuGraphLaunch)(executable, stream), SUCCESS);
        assert_eq!((simulator.cuStreamSynchronize)(stream), SUCCESS);
        assert_eq!(simulator.peek(block, BYTES), vec![value; BYTES]);
    }
    assert_eq!((simulator.cuGraphExecDestroy)(executable), SUCCESS);
}

#[test]
fn a_reset_ends_what_is_captured() {
    let simulator = Simulator::fresh();
    begin(&simulator, 0);
    let mut address = 0;
    assert_eq!((simulator.cuMemAlloc_v2)(&mut address, BYTES), UNSUPPORTED);
    assert_eq!((simulator.cuDevicePrimaryCtxReset_v2)(0), SUCCESS);
    let mut context = 0;
    assert_eq!((simulator.cuDevicePrimaryCtxRetain)(&mut context, 0), SUCCESS);
    assert_eq!((simulator.cuMemAlloc_v2)(&mut address, BYTES), SUCCESS);
    begin(&simulator, 0);
    (simulator.simcuda_reset)();
    drop(simulator);
    let simulator = Simulator::fresh();
    assert_eq!((simulator.cuMemAlloc_v2)(&mut address, BYTES), SUCCESS);
}

#[test]
fn a_copy_that_a_capture_forbids_is_not_done() {
    let simulator = Simulator::fresh();
    let (block, pinned) = (simulator.device_block(BYTES), simulator.pinned_block(BYTES, 7));
    let before = simulator.peek(block, BYTES);
    begin(&simulator, NON_BLOCKING);
    assert_eq!((simulator.cuMemcpy)(block, pinned, BYTES), UNSUPPORTED);
    assert_eq!((simulator.peek(block, BYTES), simulator.copies("HtoD", BYTES)), (before, 0));
}
