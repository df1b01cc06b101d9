//! Device and pinned memory: patterns, limits, forbidden addresses, and the rules that a program breaks with them.

mod support;

use support::*;

#[test]
fn freed_memory_is_given_out_again_at_once_and_fresh_memory_has_a_pattern() {
    let simulator = Simulator::fresh();
    let (first, second) = (simulator.device_block(4096), simulator.device_block(4096));
    assert_eq!(simulator.cuMemsetD8_v2(second, 7, 4096), SUCCESS);
    assert_eq!(simulator.cuMemFree_v2(first), SUCCESS);
    assert_eq!(simulator.cuMemFree_v2(second), SUCCESS);
    assert_eq!(simulator.device_block(4096), second);
    assert_eq!(simulator.peek(second, 4096), vec![0xCD; 4096]);
}

#[test]
fn device_memory_and_what_lies_around_pinned_blocks_or_was_freed_cannot_be_touched() {
    let simulator = Simulator::fresh();
    let (device, pinned, freed) =
        (simulator.device_block(4096), simulator.pinned_block(4096, 1), simulator.pinned_block(4096, 1));
    assert_eq!(simulator.cuMemFreeHost(pointer(freed)), SUCCESS);
    for address in [device, pinned + 4096, pinned - 1, freed] {
        let status = in_a_forked_child(|| _ = std::hint::black_box(first_byte(address)));
        assert!(died_of(status, libc::SIGSEGV), "{status}");
    }
}

#[test]
fn between_two_blocks_there_is_a_gap_that_no_copy_may_reach() {
    let simulator = Simulator::fresh();
    let (first, second) = (simulator.device_block(512), simulator.device_block(512));
    assert!(first.abs_diff(second) >= 512 + 4096, "{first:x} {second:x}");
    assert_eq!(simulator.cuMemsetD8_v2(first, 0, 513), INVALID_VALUE);
    assert_eq!(simulator.cuMemsetD8_v2(first + 512, 0, 1), INVALID_VALUE);
    let mut seen = [0u8; 513];
    assert_eq!(simulator.control.simcuda_read(first, seen.as_mut_ptr().cast(), 513), -1);
    assert_eq!(simulator.control.simcuda_write(first + 510, seen.as_ptr().cast(), 3), -1);
}

#[test]
fn memory_runs_out_at_the_limit_that_was_set() {
    let simulator = Simulator::fresh();
    simulator.control.simcuda_set_memory(0, 1 << 20);
    let half = simulator.device_block(1 << 19);
    let mut address = 0;
    assert_eq!(simulator.cuMemAlloc_v2(&mut address, (1 << 19) + 1), OUT_OF_MEMORY);
    simulator.device_block(1 << 19);
    assert_eq!(simulator.cuMemAlloc_v2(&mut address, 1), OUT_OF_MEMORY);
    assert_eq!(simulator.cuMemFree_v2(half), SUCCESS);
    simulator.device_block(1 << 19);
    assert_eq!(simulator.cuMemAlloc_v2(&mut address, usize::MAX), OUT_OF_MEMORY);
    assert_eq!(simulator.cuMemHostAlloc(&mut LEGACY.clone(), 1 << 50, 0), OUT_OF_MEMORY);
}

#[test]
fn a_free_while_a_queued_operation_needs_the_block_is_a_violation_and_so_is_that_operation() {
    let simulator = Simulator::fresh();
    let (device, pinned, stream) = (simulator.device_block(512), simulator.pinned_block(512, 5), simulator.stream(0));
    simulator.control.simcuda_hold_streams();
    assert_eq!(simulator.cuMemcpyAsync(device, pinned, 512, stream), SUCCESS);
    assert_eq!(simulator.violations(), [""; 0]);
    assert_eq!(simulator.cuMemFreeHost(pointer(pinned)), SUCCESS);
    let expected = format!("0x{pinned:x} (512 bytes) was freed while a queued operation needed it");
    assert_eq!(simulator.violations(), [expected.as_str()]);
    simulator.control.simcuda_release_streams();
    assert_eq!(simulator.cuStreamSynchronize(stream), SUCCESS);
    let second = format!("a copy ran on 0x{pinned:x} (512 bytes), freed meanwhile");
    assert_eq!(simulator.violations(), [expected, second]);
    assert_eq!(simulator.peek(device, 512), vec![0xCD; 512], "what is gone cannot be copied");
}

#[test]
fn a_context_that_is_destroyed_with_work_queued_is_a_violation() {
    let simulator = Simulator::fresh();
    let (device, stream) = (simulator.device_block(512), simulator.stream(0));
    simulator.control.simcuda_hold_streams();
    assert_eq!(simulator.cuMemsetD8Async(device, 1, 512, stream), SUCCESS);
    assert_eq!(simulator.cuDevicePrimaryCtxReset_v2(0), SUCCESS);
    let violations = simulator.violations();
    assert!(violations.len() == 1 && violations[0].contains("destroyed with 1 operations queued"), "{violations:?}");
}
