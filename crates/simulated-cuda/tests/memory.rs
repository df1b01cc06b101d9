//! Device and pinned memory: patterns, limits, reuse, and forbidden addresses.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use support::*;

fn touch(address: Address) {
    std::hint::black_box(first_byte(address));
}

#[test]
fn fresh_device_memory_is_filled_with_a_pattern() {
    let simulator = Simulator::fresh();
    let block = simulator.device_block(1000);
    assert_eq!(simulator.peek(block, 1000), vec![0xCD; 1000]);
}

#[test]
fn what_was_freed_is_given_out_again_at_once_and_is_fresh() {
    let simulator = Simulator::fresh();
    let (first, second) = (simulator.device_block(4096), simulator.device_block(4096));
    assert_eq!((simulator.cuMemsetD8_v2)(second, 7, 4096), SUCCESS);
    assert_eq!((simulator.cuMemFree_v2)(first), SUCCESS);
    assert_eq!((simulator.cuMemFree_v2)(second), SUCCESS);
    assert_eq!(simulator.device_block(4096), second);
    assert_eq!(simulator.peek(second, 4096), vec![0xCD; 4096]);
}

#[test]
fn the_host_cannot_touch_device_memory() {
    let simulator = Simulator::fresh();
    let block = simulator.device_block(4096);
    let status = in_a_forked_child(|| touch(block));
    assert!(died_of(status, libc::SIGSEGV), "{status}");
}

#[test]
fn what_lies_behind_a_pinned_block_cannot_be_touched() {
    let simulator = Simulator::fresh();
    let block = simulator.pinned_block(4096, 1);
    let status = in_a_forked_child(|| touch(block + 4096));
    assert!(died_of(status, libc::SIGSEGV), "{status}");
    let status = in_a_forked_child(|| touch(block - 1));
    assert!(died_of(status, libc::SIGSEGV), "{status}");
}

#[test]
fn a_pinned_block_that_was_freed_cannot_be_touched() {
    let simulator = Simulator::fresh();
    let block = simulator.pinned_block(4096, 1);
    assert_eq!((simulator.cuMemFreeHost)(block), SUCCESS);
    let status = in_a_forked_child(|| touch(block));
    assert!(died_of(status, libc::SIGSEGV), "{status}");
}

#[test]
fn between_two_blocks_there_is_a_gap_that_no_copy_may_reach() {
    let simulator = Simulator::fresh();
    let (first, second) = (simulator.device_block(512), simulator.device_block(512));
    assert!(first.abs_diff(second) >= 512 + 4096, "{first:x} {second:x}");
    assert_eq!((simulator.cuMemsetD8_v2)(first, 0, 513), INVALID_VALUE);
    assert_eq!((simulator.cuMemsetD8_v2)(first + 512, 0, 1), INVALID_VALUE);
}

#[test]
fn memory_runs_out_at_the_limit_that_was_set() {
    let simulator = Simulator::fresh();
    (simulator.simcuda_set_memory)(0, 1 << 20);
    let (mut free, mut total) = (0, 0);
    assert_eq!((simulator.cuMemGetInfo_v2)(&mut free, &mut total), SUCCESS);
    assert_eq!((free, total), (1 << 20, 1 << 20));
    let half = simulator.device_block(1 << 19);
    let mut address = 0;
    assert_eq!((simulator.cuMemAlloc_v2)(&mut address, (1 << 19) + 1), OUT_OF_MEMORY);
    simulator.device_block(1 << 19);
    assert_eq!((simulator.cuMemAlloc_v2)(&mut address, 1), OUT_OF_MEMORY);
    assert_eq!((simulator.cuMemFree_v2)(half), SUCCESS);
    simulator.device_block(1 << 19);
}

#[test]
fn a_size_beyond_every_machine_is_out_of_memory() {
    let simulator = Simulator::fresh();
    let mut address = 0;
    assert_eq!((simulator.cuMemAlloc_v2)(&mut address, usize::MAX), OUT_OF_MEMORY);
    assert_eq!((simulator.cuMemAllocManaged)(&mut address, usize::MAX - 4096, 1), OUT_OF_MEMORY);
    assert_eq!((simulator.cuMemHostAlloc)(&mut address, usize::MAX, 0), OUT_OF_MEMORY);
    assert_eq!((simulator.cuMemHostAlloc)(&mut address, 1 << 50, 0), OUT_OF_MEMORY);
}

#[test]
fn memory_that_does_not_exist_cannot_be_registered() {
    let simulator = Simulator::fresh();
    let nowhere = 1 << 46;
    assert_eq!((simulator.cuMemHostRegister_v2)(nowhere, 4096, 0), INVALID_VALUE);
    assert_eq!((simulator.cuMemHostRegister_v2)(simulator.device_block(4096), 4096, 0), INVALID_VALUE);
    // More than the machine has, below where programs have anything.
    assert_eq!((simulator.cuMemHostRegister_v2)(4096, 1 << 44, 0), OUT_OF_MEMORY);
    assert_eq!(simulator.account().registered_blocks, 0);
}

#[test]
fn the_account_says_what_is_alive() {
    let simulator = Simulator::fresh();
    simulator.device_block(1000);
    simulator.pinned_block(300, 0);
    let host = vec![0; 100];
    assert_eq!((simulator.cuMemHostRegister_v2)(address_of(&host), 100, 0), SUCCESS);
    let (stream, event) = (simulator.stream(0), simulator.event());
    let expected = Account {
        size: size_of::<Account>(),
        device_blocks: 1,
        device_bytes: 1000,
        pinned_blocks: 1,
        pinned_bytes: 300,
        registered_blocks: 1,
        contexts: 1,
        streams: 1,
        events: 1,
    };
    assert_eq!(simulator.account(), expected);
    assert_eq!((simulator.cuStreamDestroy_v2)(stream), SUCCESS);
    assert_eq!((simulator.cuEventDestroy_v2)(event), SUCCESS);
    assert_eq!((simulator.cuDevicePrimaryCtxRelease_v2)(0), SUCCESS);
    assert_eq!(simulator.account(), Account { size: size_of::<Account>(), ..Account::default() });
}

#[test]
fn an_account_that_is_smaller_than_ours_is_filled_as_far_as_it_goes() {
    let simulator = Simulator::fresh();
    simulator.device_block(1000);
    let mut account = Account { size: 2 * size_of::<usize>(), ..Account::default() };
    (simulator.simcuda_account)(&mut account);
    assert_eq!(account, Account { size: 2 * size_of::<usize>(), device_blocks: 1, ..Account::default() });
}

#[test]
fn device_memory_can_be_written_and_read_past_the_driver_within_one_block() {
    let simulator = Simulator::fresh();
    let block = simulator.device_block(100);
    assert_eq!((simulator.simcuda_write)(block + 10, [1, 2, 3].as_ptr(), 3), 0);
    assert_eq!(simulator.peek(block + 9, 5), [0xCD, 1, 2, 3, 0xCD]);
    let mut seen = [0; 101];
    assert_eq!((simulator.simcuda_read)(block, seen.as_mut_ptr(), 101), -1);
    assert_eq!((simulator.simcuda_read)(address_of(&seen), seen.as_mut_ptr(), 1), -1);
    assert_eq!((simulator.cuMemFree_v2)(block), SUCCESS);
    assert_eq!((simulator.simcuda_read)(block, seen.as_mut_ptr(), 1), -1);
}

#[test]
fn a_free_while_a_queued_operation_needs_the_block_is_a_violation_and_so_is_that_operation() {
    let simulator = Simulator::fresh();
    let (device, pinned, stream) = (simulator.device_block(512), simulator.pinned_block(512, 5), simulator.stream(0));
    (simulator.simcuda_hold_streams)();
    assert_eq!((simulator.cuMemcpyAsync)(device, pinned, 512, stream), SUCCESS);
    assert_eq!(simulator.violations(), [""; 0]);
    assert_eq!((simulator.cuMemFreeHost)(pinned), SUCCESS);
    let expected = format!("0x{pinned:x} (512 bytes) was freed while a queued operation needed it");
    assert_eq!(simulator.violations(), [expected.as_str()]);
    (simulator.simcuda_release_streams)();
    assert_eq!((simulator.cuStreamSynchronize)(stream), SUCCESS);
    let second = format!("a copy ran on 0x{pinned:x} (512 bytes), freed meanwhile");
    assert_eq!(simulator.violations(), [expected, second]);
    assert_eq!(simulator.peek(device, 512), vec![0xCD; 512], "what is gone cannot be copied");
}

#[test]
fn a_free_after_the_operation_is_no_violation() {
    let simulator = Simulator::fresh();
    let (device, pinned, stream) = (simulator.device_block(512), simulator.pinned_block(512, 5), simulator.stream(0));
    assert_eq!((simulator.cuMemcpyAsync)(device, pinned, 512, stream), SUCCESS);
    assert_eq!((simulator.cuStreamDestroy_v2)(stream), SUCCESS);
    assert_eq!((simulator.cuCtxSynchronize)(), SUCCESS);
    assert_eq!((simulator.cuMemFreeHost)(pinned), SUCCESS);
    assert_eq!((simulator.cuMemFree_v2)(device), SUCCESS);
    assert_eq!(simulator.violations(), [""; 0]);
}

#[test]
fn memory_of_a_stream_comes_back_when_the_stream_gets_there() {
    let simulator = Simulator::fresh();
    let stream = simulator.stream(0);
    let mut block = 0;
    assert_eq!((simulator.cuMemAllocAsync)(&mut block, 1000, stream), SUCCESS);
    (simulator.simcuda_hold_streams)();
    assert_eq!((simulator.cuMemFreeAsync)(block, stream), SUCCESS);
    assert_eq!(simulator.account().device_blocks, 1);
    assert_eq!((simulator.cuMemFreeAsync)(block, stream), INVALID_VALUE);
    (simulator.simcuda_release_streams)();
    assert_eq!((simulator.cuStreamSynchronize)(stream), SUCCESS);
    assert_eq!(simulator.account().device_blocks, 0);
    assert_eq!(simulator.violations(), [""; 0]);
}

#[test]
fn a_pool_counts_its_own_memory_alone_however_it_is_freed() {
    const USED_CURRENT: i32 = 7;
    let simulator = Simulator::fresh();
    let (mut pool, mut block) = (0, 0);
    assert_eq!((simulator.cuDeviceGetDefaultMemPool)(&mut pool, 0), SUCCESS);
    let used = || {
        let mut used = 0;
        assert_eq!((simulator.cuMemPoolGetAttribute)(pool, USED_CURRENT, &mut used), SUCCESS);
        used
    };
    let other = simulator.device_block(512);
    assert_eq!((simulator.cuMemAllocAsync)(&mut block, 1024, LEGACY), SUCCESS);
    assert_eq!(used(), 1024);
    assert_eq!((simulator.cuMemFreeAsync)(other, LEGACY), SUCCESS);
    assert_eq!((simulator.cuStreamSynchronize)(LEGACY), SUCCESS);
    assert_eq!(used(), 1024);
    assert_eq!((simulator.cuMemFree_v2)(block), SUCCESS);
    assert_eq!(used(), 0);
}

#[test]
fn a_pool_keeps_what_its_threshold_allows_and_gives_it_up_for_others() {
    const RELEASE_THRESHOLD: i32 = 4;
    const RESERVED_CURRENT: i32 = 5;
    let simulator = Simulator::fresh();
    (simulator.simcuda_set_memory)(0, 1 << 20);
    let (mut pool, mut reserved, mut block) = (0, 0, 0);
    assert_eq!((simulator.cuDeviceGetDefaultMemPool)(&mut pool, 0), SUCCESS);
    assert_eq!((simulator.cuMemPoolSetAttribute)(pool, RELEASE_THRESHOLD, &u64::MAX), SUCCESS);
    assert_eq!((simulator.cuMemAllocAsync)(&mut block, 1 << 19, LEGACY), SUCCESS);
    assert_eq!((simulator.cuMemFreeAsync)(block, LEGACY), SUCCESS);
    assert_eq!((simulator.cuStreamSynchronize)(LEGACY), SUCCESS);
    assert_eq!((simulator.cuMemPoolGetAttribute)(pool, RESERVED_CURRENT, &mut reserved), SUCCESS);
    assert_eq!(reserved, 1 << 19);
    let (mut free, mut total) = (0, 0);
    assert_eq!((simulator.cuMemGetInfo_v2)(&mut free, &mut total), SUCCESS);
    assert_eq!(free, 1 << 19);
    simulator.device_block(1 << 20);
    assert_eq!((simulator.cuMemPoolGetAttribute)(pool, RESERVED_CURRENT, &mut reserved), SUCCESS);
    assert_eq!(reserved, 0);
}
