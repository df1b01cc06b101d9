//! Tensors of the device: copies between the sides, and what is refused.

use crate::handles::*;
use crate::objects::{Lent, object};
use crate::support::driver::hide_devices;
use crate::support::*;

const BYTES: usize = 96;

fn of(side: i32, dims: &[i64]) -> Tensor {
    let tensor = Tensor::on(side).unwrap();
    tensor.resize(dims).unwrap();
    tensor
}

/// A device tensor whose memory holds a pattern.
fn filled(gpu: &Gpu, number: u8) -> (Tensor, usize) {
    let tensor = of(DEVICE, &[2, 3, 4]);
    let data = tensor.mutable::<u8>(&float()).unwrap().addr();
    gpu.write(data, &pattern(number, BYTES));
    (tensor, data)
}

#[test]
fn copies_go_from_each_side_to_each() {
    let gpu = gpu();
    let host = of(HOST, &[24]);
    let bytes = host.mutable::<u8>(&float()).unwrap();
    unsafe { std::slice::from_raw_parts_mut(bytes, BYTES) }.copy_from_slice(&pattern(5, BYTES));
    let (one, other, back) = (of(DEVICE, &[]), of(DEVICE, &[]), of(HOST, &[]));
    for round in 0..2 {
        // The second copy reuses the memory.
        one.copy_from(&host).unwrap();
        other.copy_from(&one).unwrap();
        back.copy_from(&other).unwrap();
        assert_eq!((back.dims(), other.dims()), (vec![24], vec![24]));
        let arrived = unsafe { std::slice::from_raw_parts(back.data::<u8>(&float()).unwrap(), BYTES) };
        assert_bytes(arrived, &pattern(5, BYTES), &round);
        unsafe { back.mutable::<u8>(&float()).unwrap().write_bytes(0, BYTES) };
    }
    // The source is freed before the copy between device blocks must be done.
    gpu.set_lag(2000);
    other.copy_from(&one).unwrap();
    drop(one);
    gpu.set_lag(0);
    let data = other.data::<u8>(&float()).unwrap().addr();
    assert_bytes(&gpu.read(data, BYTES), &pattern(5, BYTES), &"after the source's end");
}

#[test]
fn reserve_and_extend_keep_items_on_the_device() {
    let gpu = gpu();
    let (tensor, data) = filled(&gpu, 7);
    tensor.extend(2, 100.0).unwrap();
    assert_eq!((tensor.dims(), tensor.info().capacity_nbytes), (vec![4, 3, 4], 2 * BYTES));
    let moved = tensor.data::<u8>(&float()).unwrap().addr();
    assert_ne!(moved, data);
    assert_bytes(&gpu.read(moved, BYTES), &pattern(7, BYTES), &"the items");
}

#[test]
fn the_lent_memory_brings_the_items_to_the_host_and_back() {
    let gpu = gpu();
    let (tensor, data) = filled(&gpu, 9);
    let mem = tensor.memory().unwrap();
    let mut host = std::ptr::null_mut();
    assert_eq!(unsafe { syncedmem_mutable_cpu_data(mem, &mut host) }, SYNCEDMEM_SUCCESS);
    let bytes = unsafe { std::slice::from_raw_parts_mut(host.cast::<u8>(), BYTES) };
    assert_bytes(bytes, &pattern(9, BYTES), &"on the host");
    bytes.copy_from_slice(&pattern(10, BYTES));
    // The tensor's own access brings the newest data to its side.
    assert_eq!(tensor.data::<u8>(&float()).unwrap().addr(), data);
    assert_bytes(&gpu.read(data, BYTES), &pattern(10, BYTES), &"back on the device");
}

#[test]
fn device_memory_of_the_caller_comes_back_after_the_last_use() {
    let gpu = gpu();
    let (lent, block, tensor) = (Lent::default(), gpu.block(BYTES), of(DEVICE, &[24]));
    gpu.write(block.address, &pattern(2, BYTES));
    tensor.share_external(block.pointer(), &float(), 0, lent.deleter(), lent.context()).unwrap();
    assert_eq!(tensor.mutable::<u8>(&float()).unwrap().addr(), block.address);
    let copy = Tensor::new();
    copy.copy_from(&tensor).unwrap();
    let arrived = unsafe { std::slice::from_raw_parts(copy.data::<u8>(&float()).unwrap(), BYTES) };
    assert_bytes(arrived, &pattern(2, BYTES), &"a copy");
    assert_eq!(lent.returned(), []);
    drop(tensor);
    assert_eq!(lent.returned(), [block.address]);
}

#[test]
fn a_tensor_of_no_items_has_no_device_memory() {
    let _gpu = gpu();
    assert_eq!(of(DEVICE, &[2, 0]).mutable::<u8>(&float()), Ok(std::ptr::null_mut()));
}

#[test]
fn types_with_constructors_stay_on_the_host() {
    let _gpu = gpu();
    let (tensor, objects) = (of(DEVICE, &[4]), of(HOST, &[4]));
    assert_eq!(tensor.mutable::<u8>(&object()), Err(SYNCEDMEM_ERROR_UNSUPPORTED));
    objects.mutable::<u8>(&object()).unwrap();
    assert_eq!(tensor.copy_from(&objects), Err(SYNCEDMEM_ERROR_UNSUPPORTED));
    assert_eq!(tensor.share_data(&objects), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT), "of the other side");
    assert_eq!((tensor.dims(), tensor.info().meta.is_none()), (vec![4], true));
}

#[test]
fn a_driver_that_fails_leaves_the_tensor_as_it_was() {
    let gpu = simulated_gpu();
    let (tensor, data) = filled(&gpu, 4);
    for (function, status) in [("cuMemAlloc_v2", SYNCEDMEM_ERROR_OUT_OF_MEMORY), ("cuMemcpy", SYNCEDMEM_ERROR_DRIVER)] {
        // The library tries a failed allocation again.
        let (why, times) = if function == "cuMemcpy" { (1, 1) } else { (2, 9) };
        gpu.fail_times(function, 1, why, times);
        assert_eq!(tensor.extend(5, 0.0), Err(status), "{function}: {}", last_error());
        gpu.calm();
        assert_eq!((tensor.dims(), tensor.data::<u8>(&float()).unwrap().addr()), (vec![2, 3, 4], data));
        assert_bytes(&gpu.read(data, BYTES), &pattern(4, BYTES), &function);
    }
    let host = of(HOST, &[3]);
    gpu.fail("cuMemcpy", 1, 1);
    assert_eq!(host.copy_from(&tensor), Err(SYNCEDMEM_ERROR_DRIVER));
    assert_eq!((host.dims(), host.info().capacity_nbytes), (vec![3], 0));
    assert_eq!(host.copy_from(&tensor), Ok(()));
}

#[test(alone, ("SYNCEDMEM_TEST_DRIVER", "none"))]
fn without_a_driver_device_tensors_have_shapes_and_no_memory() {
    hide_devices();
    let (tensor, host) = (of(DEVICE, &[4]), of(HOST, &[4]));
    assert_eq!(tensor.mutable::<u8>(&float()), Err(SYNCEDMEM_ERROR_NO_GPU));
    host.mutable::<u8>(&float()).unwrap();
    assert_eq!(tensor.copy_from(&host), Err(SYNCEDMEM_ERROR_NO_GPU));
    assert_eq!((tensor.dims(), tensor.info().capacity_nbytes, tensor.info().meta.is_none()), (vec![4], 0, true));
}
