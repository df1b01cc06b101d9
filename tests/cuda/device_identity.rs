//! How blocks are recognized: by the driver's number, and where it has none for host memory, by the life of their context.

use crate::support::pools::*;
use crate::support::*;

/// The driver has no numbers for page-locked memory.
const NO_IDS: (&str, &str) = ("SIMCUDA_NO_HOST_IDS", "1");

/// How many page-locked blocks the library has allocated from the driver.
fn made(gpu: &Gpu) -> usize {
    gpu.calls_of(c"cuMemHostAlloc")
}

/// The address of a page-locked block whose object has ended.
fn page_locked(bytes: usize) -> usize {
    filled(bytes, 3).host_address()
}

/// Runs `body` with a driver that has no numbers for host memory.
fn without_numbers<F: FnOnce(&Gpu)>(body: F) {
    alone_with_pools(&[NO_IDS], |gpu| {
        let _pinning = Pinning::always();
        body(gpu);
    });
}

#[test]
fn page_locked_blocks_without_a_number_are_kept_for_the_next_object() {
    without_numbers(|gpu| {
        for bytes in [5000, 3 * MIB] {
            let first = page_locked(bytes);
            gpu.control().simcuda_clear_log();
            assert_eq!((page_locked(bytes), made(gpu)), (first, 0), "{bytes}");
        }
    });
}

#[test]
fn a_block_without_a_number_is_not_handed_out_after_a_reset() {
    without_numbers(|gpu| {
        for context_is_current in [false, true] {
            page_locked(3 * MIB);
            assert_eq!(gpu.cuDevicePrimaryCtxReset_v2(0), 0);
            gpu.control().simcuda_clear_log();
            let use_it = || assert!(all_are(filled(3 * MIB, 9).cpu_data().unwrap(), 3 * MIB, 9));
            if context_is_current {
                gpu.within(0, use_it)
            } else {
                use_it()
            }
            assert_eq!(made(gpu), 1, "{context_is_current}");
        }
    });
}

#[test]
fn a_push_that_a_reset_overtook_says_so_whether_or_not_its_context_is_current() {
    each_alone(
        &[false, true],
        |_| vec![POOLS, simulated_file()],
        |&is_current| {
            let gpu = &simulated_gpu();
            let stream = gpu.stream();
            let mut object = filled(5000, 1);
            object.overwrite_gpu_data().unwrap();
            object.mutable_cpu_data().unwrap();
            assert_eq!(object.push(stream.handle()), SYNCEDMEM_SUCCESS, "{}", last_error());
            stream.synchronize();
            stream.destroy();
            assert_eq!(gpu.cuDevicePrimaryCtxReset_v2(0), 0);
            let status = if is_current { gpu.within(0, || object.wait()) } else { object.wait() };
            assert_refused(status, SYNCEDMEM_ERROR_DRIVER, "the device was reset");
            // This creates the context again.
            filled(10, 1).gpu_data().unwrap();
        },
    );
}

#[test(alone_with_driver, POOLS)]
fn a_look_up_that_fails_for_the_threads_own_context_loses_no_block() {
    const CONTEXT_IS_DESTROYED: i32 = 709;
    let gpu = &simulated_gpu();
    set_pools(false);
    gpu.within(0, || {
        let mut object = filled(5000, 3);
        object.gpu_data().unwrap();
        gpu.fail("cuPointerGetAttributes", 1, CONTEXT_IS_DESTROYED);
        drop(object);
    });
    assert!(gpu.has_failed("cuPointerGetAttributes", CONTEXT_IS_DESTROYED));
    assert_eq!(gpu.alive().device_blocks, 0);
}
