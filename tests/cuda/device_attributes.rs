//! Where a device's driver registers no host memory, `syncedmem_pin` says so.

use crate::support::pools::{POOLS, filled};
use crate::support::*;

const NO_REGISTRATION: (&str, &str) = ("SIMCUDA_ATTRIBUTES", "99=0");
const NOT_SUPPORTED: i32 = 801;

fn where_memory_cannot_be_registered_pin_says_so_without_asking_the_driver() {
    let gpu = &simulated_gpu();
    let mut object = filled(5000, 1);
    for _ in 0..3 {
        assert_refused(object.pin(), SYNCEDMEM_ERROR_DRIVER, "CUDA_ERROR_NOT_SUPPORTED");
    }
    assert_eq!((gpu.calls_of(c"cuMemHostRegister_v2"), object.is_pinned()), (0, false));
}

fn what_refuses_one_buffer_of_a_callers_refuses_no_other() {
    let gpu = &simulated_gpu();
    gpu.fail("cuMemHostRegister_v2", 1, NOT_SUPPORTED);
    let mut buffers = [[1u8; 5000]; 2];
    let [mut one, mut other] = buffers.each_mut().map(|buffer| Object::borrowing(buffer));
    assert_eq!([one.pin(), other.pin()], [SYNCEDMEM_ERROR_DRIVER, SYNCEDMEM_SUCCESS], "{}", last_error());
    assert_eq!((one.is_pinned(), other.is_pinned()), (false, true));
}

fn a_device_is_not_asked_how_it_treats_host_memory_by_a_copy() {
    let gpu = &simulated_gpu();
    let ((), calls) = gpu.watch(|| {
        let mut object = filled(5000, 1);
        object.mutable_gpu_data().unwrap();
        object.cpu_data().unwrap();
    });
    assert!(!names(&calls).contains(&"cuDeviceGetAttribute"), "{calls:?}");
}

crate::support::harness::tests![
    alone_with_driver(&[POOLS]):
    what_refuses_one_buffer_of_a_callers_refuses_no_other,
    a_device_is_not_asked_how_it_treats_host_memory_by_a_copy;
    alone_with_driver(&[POOLS, NO_REGISTRATION]): where_memory_cannot_be_registered_pin_says_so_without_asking_the_driver
];
