//! The mistakes of programs that the driver finds: memory that they touch or free too early, work that does not wait, and calls after the
//! end of CUDA. The suites of the library test the driver with programs that keep the rules.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::ffi::{c_char, c_void};

use driver::*;
use simulator::*;

#[allow(dead_code, clippy::undocumented_unsafe_blocks, reason = "a part of it is used; tests say no SAFETY")]
#[path = "../../../../tests/support/driver.rs"]
mod driver;
mod simulator;

// --- kernels ----------------------------------------------------------------------------------------

const ILLEGAL_ADDRESS: i32 = 700;
const NAME: *const c_char = c"add_one".as_ptr();
/// The least block that has pages to itself.
const PAGE: usize = 4096;

/// Adds one to the byte at its first address, offset by the argument in bytes.
extern "C" fn add_one(argument: *mut c_void, places: *const *mut u8) {
    // SAFETY: every launch here has a use.
    let place = unsafe { places.read() };
    let byte = place.wrapping_add(argument.addr());
    // SAFETY: in the block, or where a test wants to see it fail.
    let old = unsafe { byte.read_volatile() };
    // SAFETY: the same byte.
    unsafe { byte.write_volatile(old.wrapping_add(1)) };
}

fn launch(simulator: &Library, address: Address, stream: Handle, offset: usize) -> i32 {
    let uses = [Use { address, writes: 1 }];
    simulator.control.simcuda_launch(NAME, stream, uses.as_ptr(), 1, add_one, std::ptr::without_provenance_mut(offset))
}

/// A launch with that address is a violation with that sentence, and breaks the context.
fn is_refused(simulator: &Simulator, address: Address, reason: &str) {
    assert_eq!(launch(simulator, address, LEGACY, 0), ILLEGAL_ADDRESS);
    assert_eq!(simulator.violations(), [format!("kernel add_one got 0x{address:x}: {reason}")]);
    assert_eq!(simulator.cuCtxSynchronize(), ILLEGAL_ADDRESS);
}

#[test]
fn pageable_memory_is_refused() {
    let simulator = Simulator::fresh();
    let pageable = vec![0; 64];
    is_refused(&simulator, address_of(&pageable), "pageable memory of the host");
}

#[test]
fn memory_of_another_device_is_refused() {
    let simulator = Simulator::fresh();
    let mut other = LEGACY;
    assert_eq!(simulator.cuDevicePrimaryCtxRetain(&mut other, 1), SUCCESS);
    assert_eq!(simulator.cuCtxSetCurrent(other), SUCCESS);
    let block = simulator.device_block(512);
    assert_eq!(simulator.cuCtxSetCurrent(simulator.context), SUCCESS);
    is_refused(&simulator, block, "memory of device 1, and runs on device 0");
}

#[test]
fn a_block_that_is_freed_before_it_ran_is_named_with_the_kernel() {
    let simulator = Simulator::fresh();
    let (block, stream) = (simulator.device_block(512), simulator.stream(0));
    simulator.control.simcuda_hold_streams();
    assert_eq!(launch(&simulator, block, stream, 0), SUCCESS);
    assert_eq!(simulator.cuMemFree_v2(block), SUCCESS);
    simulator.control.simcuda_release_streams();
    assert_eq!(simulator.cuStreamSynchronize(stream), SUCCESS);
    let sentences = simulator.violations();
    assert!(
        sentences.contains(&format!("kernel add_one ran on 0x{block:x} (512 bytes), freed meanwhile")),
        "{sentences:?}"
    );
}

#[test]
fn a_write_past_the_end_of_a_block_is_named() {
    let simulator = Simulator::fresh();
    let block = simulator.device_block(1000);
    assert_eq!(launch(&simulator, block, LEGACY, 1000), SUCCESS);
    assert_eq!(simulator.cuCtxSynchronize(), SUCCESS);
    assert_eq!(
        simulator.violations(),
        [format!("kernel add_one wrote past the end of 0x{block:x} (1000 bytes), or one before it did")]
    );
}

#[test]
fn an_access_beyond_the_pages_of_a_block_names_it_and_ends_the_process() {
    let output = in_a_process("an_access_beyond_the_pages_of_a_block_names_it_and_ends_the_process", &[], |_| {
        let simulator = Simulator::fresh();
        let block = simulator.device_block(PAGE);
        assert_eq!(launch(&simulator, block, LEGACY, PAGE), SUCCESS);
        simulator.cuCtxSynchronize();
    });
    assert!(aborted(&output));
    let said = said(&output);
    assert!(said.contains("kernel add_one touched memory that is none of its blocks: 0x"), "{said}");
    assert!(said.contains(", 4096 bytes past the start of its block 0x"), "{said}");
}

#[test]
fn a_strict_driver_ends_a_kernel_that_reaches_a_block_which_its_launch_did_not_name() {
    let test = "a_strict_driver_ends_a_kernel_that_reaches_a_block_which_its_launch_did_not_name";
    let output = in_a_process(test, &[("SIMCUDA_STRICT", "1")], |_| {
        let simulator = Simulator::fresh();
        let (one, other) = (simulator.device_block(PAGE), simulator.device_block(PAGE));
        for block in [one, other, one] {
            assert_eq!((launch(&simulator, block, LEGACY, 5), simulator.cuCtxSynchronize()), (SUCCESS, SUCCESS));
        }
        assert_eq!((simulator.peek(one + 5, 1), simulator.peek(other + 5, 1)), (vec![0xCF], vec![0xCE]));
        eprintln!("it reaches for 0x{other:x}");
        assert_eq!(launch(&simulator, one, LEGACY, (other - one) as usize), SUCCESS);
        simulator.cuCtxSynchronize();
    });
    let said = said(&output);
    let other = said.split_once("it reaches for ").unwrap().1.lines().next().unwrap();
    assert!(aborted(&output));
    assert!(said.contains(&format!("kernel add_one touched memory that is none of its blocks: {other}, ")), "{said}");
}

/// A kernel in one stream, and a copy to its block in another, which waits for the kernel or not.
fn copy_beside_a_kernel(simulator: &Simulator, waits: bool) -> (Address, Vec<String>) {
    let (block, pinned) = (simulator.device_block(512), simulator.pinned_block(512, 1));
    let (first, second, event) = (simulator.stream(NON_BLOCKING), simulator.stream(NON_BLOCKING), simulator.event());
    simulator.control.simcuda_hold_streams();
    assert_eq!(launch(simulator, block, first, 0), SUCCESS);
    assert_eq!(simulator.cuEventRecord(event, first), SUCCESS);
    if waits {
        assert_eq!(simulator.cuStreamWaitEvent(second, event, 0), SUCCESS);
    }
    assert_eq!(simulator.cuMemcpyAsync(block, pinned, 512, second), SUCCESS);
    simulator.control.simcuda_release_streams();
    assert_eq!(simulator.cuCtxSynchronize(), SUCCESS);
    (block, simulator.violations())
}

#[test]
fn a_copy_that_waits_for_no_queued_kernel_on_its_block_is_a_race() {
    let simulator = Simulator::fresh();
    let (block, violations) = copy_beside_a_kernel(&simulator, false);
    let expected =
        format!("a copy and kernel add_one use 0x{block:x} (512 bytes) in streams that do not wait for each other");
    assert_eq!(violations, [expected]);
}

#[test]
fn a_copy_that_waits_for_the_kernels_event_is_none() {
    let simulator = Simulator::fresh();
    assert_eq!(copy_beside_a_kernel(&simulator, true).1, [""; 0]);
}

/// The first byte of a copy of a block that another stream fills, which the copy waits for or not.
fn copied(simulator: &Simulator, waits: bool) -> u8 {
    let (from, to) = (simulator.device_block(512), simulator.device_block(512));
    let (first, second, event) = (simulator.stream(NON_BLOCKING), simulator.stream(NON_BLOCKING), simulator.event());
    assert_eq!(simulator.cuMemsetD8Async(from, 7, 512, first), SUCCESS);
    assert_eq!(simulator.cuEventRecord(event, first), SUCCESS);
    if waits {
        assert_eq!(simulator.cuStreamWaitEvent(second, event, 0), SUCCESS);
    }
    assert_eq!(simulator.cuMemcpyAsync(to, from, 512, second), SUCCESS);
    assert_eq!(simulator.cuStreamSynchronize(second), SUCCESS);
    let byte = simulator.peek(to, 1)[0];
    assert_eq!(simulator.cuCtxSynchronize(), SUCCESS);
    byte
}

#[test]
fn in_some_order_a_missing_wait_shows_in_the_result_and_in_none_is_a_wait_broken() {
    let test = "in_some_order_a_missing_wait_shows_in_the_result_and_in_none_is_a_wait_broken";
    let output = in_a_process(test, &[("SIMCUDA_ORDER", "1")], |_| {
        let simulator = Simulator::fresh();
        assert!((0..16).any(|_| copied(&simulator, false) == 0xCD));
        assert!((0..16).all(|_| copied(&simulator, true) == 7));
    });
    assert!(output.status.success(), "{}", said(&output));
}

// --- memory -----------------------------------------------------------------------------------------

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

// --- processes --------------------------------------------------------------------------------------

#[test]
fn a_call_in_a_forked_child_aborts_and_the_parent_goes_on() {
    let output = in_a_process("a_call_in_a_forked_child_aborts_and_the_parent_goes_on", &[], |_| {
        let simulator = Simulator::fresh();
        let block = simulator.device_block(512);
        let status = in_a_forked_child(|| {
            simulator.cuMemFree_v2(block);
        });
        assert!(died_of(status, libc::SIGABRT), "{status}");
        assert_eq!(simulator.cuMemFree_v2(block), SUCCESS);
    });
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("cuMemFree_v2 was called in a forked child"), "{}", said(&output));
}

extern "C" fn call_after_exit() {
    let mut count = 0;
    library().cuDeviceGetCount(&mut count);
}

#[test]
fn a_call_after_the_exit_handler_aborts() {
    let output = in_a_process("a_call_after_the_exit_handler_aborts", &[], |library| {
        // SAFETY: the function is this program's.
        assert_eq!(unsafe { libc::atexit(call_after_exit) }, 0);
        assert_eq!(library.cuInit(0), SUCCESS);
    });
    assert!(aborted(&output), "{:?}", output.status);
    assert!(said(&output).contains("cuDeviceGetCount was called after the driver's exit handler ran"));
}

#[test]
fn use_of_a_destroyed_stream_aborts() {
    let output = in_a_process("use_of_a_destroyed_stream_aborts", &[], |_| {
        let simulator = Simulator::fresh();
        let stream = simulator.stream(0);
        assert_eq!(simulator.cuStreamDestroy_v2(stream), SUCCESS);
        simulator.cuStreamSynchronize(stream);
    });
    assert!(aborted(&output));
    assert!(said(&output).contains("use of stream 0x") && said(&output).contains("which was destroyed"));
}
