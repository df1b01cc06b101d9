//! A device without room: one more try, then a status and a message that says who holds what.

use crate::support::*;

const BYTES: usize = 600;
const OUT_OF_MEMORY: i32 = 2;

#[test]
fn out_of_memory_is_tried_once_more_and_then_told() {
    let gpu = simulated_gpu();
    for (failures, allocations, outcome) in [(1, 2, true), (2, 2, false), (0, 2, false)] {
        let mut object = Object::holding(&pattern(1, BYTES));
        gpu.fail_times("cuMemAlloc_v2", 1, OUT_OF_MEMORY, failures);
        let (data, calls) = gpu.watch(|| object.gpu_data());
        gpu.control().simcuda_clear_faults();
        let tried = calls.iter().filter(|call| call.function == "cuMemAlloc_v2").count();
        assert_eq!((tried, data.is_ok()), (allocations, outcome), "{failures} {calls:?}");
        if !outcome {
            assert_eq!((data, object.head()), (Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY), 1));
        }
        assert!(object.gpu_data().is_ok());
    }
}

#[test]
fn out_of_device_memory_says_what_was_asked_what_there_is_and_who_holds_it() {
    const MIB: usize = 1 << 20;
    let gpu = simulated_gpu();
    gpu.set_memory(64 * MIB);
    let mut holders = [8, 20, 3, 1].map(|mib| Object::new(mib * MIB));
    holders.iter_mut().for_each(|object| assert!(object.gpu_data().is_ok()));
    let mut object = Object::new(40 * MIB);
    object.fill_host(&pattern(1, 100));
    for status in [object.gpu_data().err(), Some(object.push(std::ptr::null_mut())), object.overwrite_gpu_data().err()]
    {
        let error = last_error();
        assert_eq!(status, Some(SYNCEDMEM_ERROR_OUT_OF_MEMORY), "{error}");
        assert_has(
            &error,
            &["(40.0 MiB)", "(64.0 MiB)", "(32.0 MiB)", "(20.0 MiB)", "(8.0 MiB)", "(3.0 MiB)", "device 0"],
        );
        let largest = format!("{:p}", holders[1].mem());
        assert!(error.contains(&largest), "the largest holder {largest} is not in: {error}");
        assert_eq!((object.head(), object.device_address()), (1, 0));
    }
    drop(holders);
    assert!(object.gpu_data().is_ok(), "{}", last_error());
}
