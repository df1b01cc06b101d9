//! What a device is decides how host memory is treated: asked once, and nothing is done that is pointless or refused there.

use crate::support::pools::{MIB, POOLS, REGISTERED, alone_with_pools, filled};
use crate::support::staging::*;
use crate::support::*;

const INTEGRATED: (&str, &str) = ("SIMCUDA_ATTRIBUTES", "18=1");
const HOST_PAGE_TABLES: (&str, &str) = ("SIMCUDA_ATTRIBUTES", "88=1,100=1");
const NO_REGISTRATION: (&str, &str) = ("SIMCUDA_ATTRIBUTES", "99=0");
const NOT_SUPPORTED: i32 = 801;
const NOT_PERMITTED: i32 = 800;

/// Copies on each device, there and back, and looks that none was staged, although that is asked for. Returns the library's calls.
fn copy_unstaged(gpu: &Gpu) -> Vec<Call> {
    let contents = noise(1, 5000);
    let ((), calls) = gpu.watch(|| {
        for device in 0..2 {
            for _ in 0..3 {
                let mut object = Object::holding(&contents);
                gpu.within(device, || object.mutable_gpu_data().unwrap());
                assert_bytes(&object.host_bytes(5000), &contents, &device);
            }
        }
    });
    assert_eq!((page_locked_blocks(gpu), names(&calls).contains(&"cuMemcpyAsync")), (Some(0), false));
    calls
}

/// How often a device was asked for an attribute.
fn asked(calls: &[Call], device: &str, attribute: &str) -> usize {
    let is = |call: &&Call| [call.field("device"), call.field("attribute")] == [Some(device), Some(attribute)];
    calls.iter().filter(|call| call.function == "cuDeviceGetAttribute").filter(is).count()
}

fn where_staging_is_pointless_or_refused_copies_are_not_staged_and_the_status_says_why() {
    let cases = [
        (INTEGRATED, "it is integrated, and has the host's own memory"),
        (HOST_PAGE_TABLES, "it reads pageable memory by itself, through the host's page tables"),
        (NO_REGISTRATION, "its driver does not register host memory, as under confidential computing"),
    ];
    each_alone(
        &cases,
        |&(device, _)| vec![EVERYTHING, device, POOLS, simulated_file()],
        |(_, why)| {
            let gpu = &simulated_gpu();
            let calls = copy_unstaged(gpu);
            for device in ["0", "1"] {
                assert_eq!(
                    ["18", "100", "99"].map(|attribute| asked(&calls, device, attribute)),
                    [1; 3],
                    "{device}: {why}"
                );
            }
            let sentence = cuda_status().1;
            assert!(
                sentence.contains(&format!("0 is Simulated GPU 0 (copies are not staged: {why}), 1 is")),
                "{sentence}"
            );
            assert!(!names(&calls).contains(&"cuMemHostRegister_v2"), "{why}");
        },
    );
}

fn a_driver_that_refuses_to_register_the_slots_is_asked_once_for_each_device() {
    let gpu = &simulated_gpu();
    gpu.fail_times("cuMemHostRegister_v2", 1, NOT_PERMITTED, 0);
    // Longer than the pause after any refusal.
    let calls: Vec<_> = (0..30).flat_map(|_| copy_unstaged(gpu)).collect();
    assert_eq!(names(&calls).iter().filter(|&&name| name == "cuMemHostRegister_v2").count(), 2);
    let sentence = cuda_status().1;
    assert!(sentence.contains("as under confidential computing), 1 is"), "{sentence}");
}

fn a_device_is_not_asked_where_staging_is_not_and_its_status_says_nothing_of_it() {
    let gpu = &simulated_gpu();
    let calls = copy_unstaged(gpu);
    assert!(!names(&calls).contains(&"cuDeviceGetAttribute"), "{calls:?}");
    assert!(!cuda_status().1.contains("staged"), "{}", cuda_status().1);
}

fn the_status_of_a_usual_device_says_nothing_of_staging() {
    let gpu = &simulated_gpu();
    assert!(!cuda_status().1.contains("staged"), "{}", cuda_status().1);
    Object::holding(&noise(1, SLOT)).gpu_data().unwrap();
    assert_eq!(page_locked_blocks(gpu), Some(1));
}

/// Makes so many page-locked blocks, and says how many the driver was asked to register, and to allocate.
fn registered_and_allocated(gpu: &Gpu, blocks: usize) -> (usize, usize) {
    let _pinning = Pinning::always();
    gpu.control().simcuda_clear_log();
    let held: Vec<_> = (0..blocks).map(|_| filled(2 * MIB, 1)).collect();
    drop(held);
    (gpu.calls_of(c"cuMemHostRegister_v2"), gpu.calls_of(c"cuMemHostAlloc"))
}

fn page_locked_blocks_for_an_integrated_device_are_allocated_although_registered_ones_are_asked_for() {
    alone_with_pools(&[REGISTERED, INTEGRATED], |gpu| assert_eq!(registered_and_allocated(gpu, 3), (0, 3)));
}

fn a_driver_that_refuses_to_register_blocks_is_asked_once() {
    let gpu = &simulated_gpu();
    gpu.fail_times("cuMemHostRegister_v2", 1, NOT_SUPPORTED, 0);
    assert_eq!(registered_and_allocated(gpu, 5), (1, 5));
}

fn a_lack_of_memory_is_no_refusal_for_good() {
    let gpu = &simulated_gpu();
    gpu.fail("cuMemHostRegister_v2", 1, 2);
    assert_eq!(registered_and_allocated(gpu, 5), (5, 1));
}

fn where_memory_cannot_be_registered_pin_says_so_without_asking_the_driver() {
    let gpu = &simulated_gpu();
    let mut object = filled(5000, 1);
    assert_refused(object.pin(), SYNCEDMEM_ERROR_DRIVER, "CUDA_ERROR_NOT_SUPPORTED");
    assert_eq!((gpu.calls_of(c"cuMemHostRegister_v2"), object.is_pinned()), (0, false));
}

fn what_refuses_one_buffer_of_a_callers_refuses_no_other() {
    let gpu = &simulated_gpu();
    gpu.fail("cuMemHostRegister_v2", 1, NOT_SUPPORTED);
    let mut object = filled(5000, 1);
    assert_eq!([object.pin(), object.pin()], [SYNCEDMEM_ERROR_DRIVER, SYNCEDMEM_SUCCESS], "{}", last_error());
}

crate::support::harness::tests![
    where_staging_is_pointless_or_refused_copies_are_not_staged_and_the_status_says_why,
    page_locked_blocks_for_an_integrated_device_are_allocated_although_registered_ones_are_asked_for;
    alone_with_driver(&[EVERYTHING, POOLS]):
    a_driver_that_refuses_to_register_the_slots_is_asked_once_for_each_device,
    the_status_of_a_usual_device_says_nothing_of_staging;
    alone_with_driver(&[REGISTERED, POOLS]):
    a_driver_that_refuses_to_register_blocks_is_asked_once,
    a_lack_of_memory_is_no_refusal_for_good;
    alone_with_driver(&[POOLS]): what_refuses_one_buffer_of_a_callers_refuses_no_other;
    alone_with_driver(&[POOLS, INTEGRATED]): a_device_is_not_asked_where_staging_is_not_and_its_status_says_nothing_of_it;
    alone_with_driver(&[POOLS, NO_REGISTRATION]): where_memory_cannot_be_registered_pin_says_so_without_asking_the_driver
];
