//! Differences from Caffe that need a device, and the sides of a copy.

use crate::support::blob::*;
use crate::support::*;

#[test]
fn the_shape_goes_to_the_device_only_where_it_is_asked_for() {
    let gpu = simulated_gpu();
    let mut blob = Blob::new(&[2, 3]);
    let ((), calls) = gpu.watch(|| (1..50).for_each(|dim| blob.reshape(&[dim, 2]).unwrap()));
    assert_eq!(names(&calls), [""; 0], "a reshape makes no driver call");
    let at = blob.gpu_shape().unwrap();
    let ints = |bytes: Vec<u8>| {
        bytes.chunks_exact(4).map(|four| i32::from_ne_bytes(four.try_into().unwrap())).collect::<Vec<_>>()
    };
    assert_eq!(ints(gpu.read(at.addr(), 8)), [49, 2]);
    let (again, calls) = gpu.watch(|| blob.gpu_shape());
    assert_eq!((again, names(&calls)), (Ok(at), vec![]), "asked for again, it is there");
    blob.reshape(&[49, 2]).unwrap();
    assert_eq!(blob.gpu_shape(), Ok(at), "the same shape");
    blob.reshape(&[7]).unwrap();
    assert_eq!(ints(gpu.read(blob.gpu_shape().unwrap().addr(), 4)), [7]);
    blob.reshape(&[]).unwrap();
    assert_eq!(blob.gpu_shape(), Ok(std::ptr::null()), "no axes");
}

#[test]
fn device_memory_may_be_lent() {
    let gpu = simulated_gpu();
    let lent = gpu.block(8);
    gpu.write(lent.address, &[1f32, 2.0].map(f32::to_ne_bytes).concat());
    let mut blob = Blob::new(&[2]);
    blob.write(DIFF, &[5f32, 6.0]);
    blob.set_gpu(DATA, lent.pointer().cast()).unwrap();
    assert_eq!((blob.head(DATA), blob.read::<f32>(DATA)), (SYNCEDMEM_HEAD_AT_GPU, vec![1.0, 2.0]));
    assert_eq!(blob.read::<f32>(DIFF), [5.0, 6.0]);
}

#[test(alone, ("SYNCEDMEM_TEST_DRIVER", "none"))]
fn without_a_gpu_the_host_works_and_the_device_is_refused() {
    assert!(crate::support::driver::loaded().is_none());
    let mut blob = Blob::new(&[2]);
    blob.write(DATA, &[1f32, 2.0]);
    assert_eq!((blob.sync(DATA), blob.asum(DATA)), (Err(SYNCEDMEM_ERROR_NO_GPU), Ok(3.0)));
    assert_eq!(blob.gpu_shape(), Err(SYNCEDMEM_ERROR_NO_GPU));
    assert_eq!(blob.set_gpu(DATA, 4096 as *mut _), Err(SYNCEDMEM_ERROR_NO_GPU));
}
