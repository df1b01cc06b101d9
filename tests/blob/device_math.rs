//! Math on the device, by a stand-in for cuBLAS on the simulated driver; and on the host without it.

use crate::support::blob::*;
use crate::support::cublas::{self, Cublas};
use crate::support::*;

/// Loads the driver and the stand-in for the rest of the process, so each test has its own process.
fn with_cublas() -> (Gpu, Cublas) {
    (simulated_gpu(), Cublas::load())
}

#[test(alone_with_driver)]
fn math_is_done_where_the_data_is() {
    let (gpu, cublas) = &with_cublas();
    let mut blob = Blob::new(&[3]);
    blob.write_device(gpu, DATA, &[1.0, -2.0, 3.0]);
    blob.write(DIFF, &[1f32, 1.0, 1.0]);
    gpu.control().simcuda_clear_log();
    assert_eq!((blob.asum(DATA), blob.sumsq(DATA)), (Ok(6.0), Ok(14.0)));
    assert_eq!((blob.asum(DIFF), cublas.counts()), (Ok(3.0), [1, 0, 2]), "the diff is on the host");
    blob.scale(DATA, 2.0).unwrap();
    assert_eq!(gpu.copies(), [0, 0], "nothing crossed the bus");
    blob.update().unwrap();
    assert_eq!((gpu.copies(), cublas.counts()), ([1, 0], [1, 0, 4]), "the diff did");
    assert_eq!((blob.head(DATA), blob.head(DIFF)), (SYNCEDMEM_HEAD_AT_GPU, SYNCEDMEM_SYNCED));
    assert_eq!(blob.read_device(gpu, DATA), [1.0, -5.0, 5.0]);
    assert_eq!((blob.read::<f32>(DATA), computed_on_host()), (vec![1.0, -5.0, 5.0], 0));
}

#[test(alone_with_driver)]
fn synced_means_the_device() {
    let (gpu, cublas) = &with_cublas();
    let mut blob = Blob::of(SYNCEDMEM_FLOAT64, &[2]);
    blob.write(DATA, &[1.5f64, -2.5]);
    blob.sync(DATA).unwrap();
    assert_eq!((blob.asum(DATA), blob.sumsq(DATA)), (Ok(4.0), Ok(8.5)));
    assert_eq!((blob.head(DATA), cublas.counts()), (SYNCEDMEM_SYNCED, [1, 0, 2]));
    blob.scale(DATA, 3.0).unwrap();
    assert_eq!(blob.head(DATA), SYNCEDMEM_HEAD_AT_GPU);
    gpu.control().simcuda_clear_log();
    assert_eq!((blob.read::<f64>(DATA), gpu.copies()), (vec![4.5, -7.5], [0, 1]));
}

#[test(alone_with_driver)]
fn elements_beyond_the_count_take_no_part() {
    let (gpu, _) = &with_cublas();
    let mut blob = Blob::new(&[3]);
    blob.write_device(gpu, DATA, &[1.0, 2.0, 4.0]);
    blob.reshape(&[2]).unwrap();
    assert_eq!((blob.asum(DATA), blob.scale(DATA, 3.0)), (Ok(3.0), Ok(())));
    blob.reshape(&[3]).unwrap();
    assert_eq!(blob.read_device(gpu, DATA), [3.0, 6.0, 4.0]);
    blob.reshape(&[0]).unwrap();
    gpu.control().simcuda_clear_log();
    assert_eq!((blob.asum(DATA), blob.scale(DATA, 3.0), blob.update()), (Ok(0.0), Ok(()), Ok(())));
    assert_eq!(gpu.copies(), [0, 0]);
}

/// A copy on a stream that does not wait for the legacy one would copy the old data.
#[test(alone_with_driver)]
fn a_copy_on_another_stream_waits_for_the_math() {
    let (gpu, _) = &with_cublas();
    let stream = gpu.stream();
    let mut blob = Blob::new(&[2]);
    blob.write_device(gpu, DATA, &[1.0, 2.0]);
    let mem = blob.memory(DATA).unwrap();
    let pull = || {
        let ((), calls) = gpu.watch(|| {
            let status = unsafe { syncedmem_async_cpu_pull(mem, stream.handle().cast()) };
            assert_eq!(status, SYNCEDMEM_SUCCESS, "{}", last_error());
        });
        assert_eq!(unsafe { syncedmem_wait(mem) }, SYNCEDMEM_SUCCESS);
        let place = |name: &str| names(&calls).iter().position(|call| *call == name);
        (place("cuStreamSynchronize"), place("cuMemcpyAsync"))
    };
    assert!(matches!(pull(), (Some(wait), Some(copy)) if wait < copy), "for the fill");
    blob.sync(DATA).unwrap();
    blob.scale(DATA, 2.0).unwrap();
    assert!(matches!(pull(), (Some(wait), Some(copy)) if wait < copy), "for the math");
    assert_eq!(blob.read::<f32>(DATA), [2.0, 4.0]);
}

#[test(alone_with_driver)]
fn a_handle_is_kept_for_its_context_until_a_reset() {
    let (gpu, cublas) = &with_cublas();
    let blob = Blob::new(&[1]);
    let sum = |value: f32| {
        blob.write_device(gpu, DATA, &[value]);
        blob.asum(DATA)
    };
    assert_eq!((sum(1.0), sum(2.0), cublas.counts()), (Ok(1.0), Ok(2.0), [1, 0, 2]));
    drop(blob);
    let mut blob = Blob::new(&[1]);
    assert_eq!(syncedmem_trim(SYNCEDMEM_MEMORY_ALL as i32), SYNCEDMEM_SUCCESS);
    assert_eq!(gpu.cuDevicePrimaryCtxReset_v2(0), 0);
    gpu.primary(0);
    blob.write(DATA, &[4f32]);
    assert_eq!(blob.sync(DATA).map(drop), Ok(()), "{}", last_error());
    assert_eq!((blob.asum(DATA), cublas.counts()), (Ok(4.0), [2, 0, 3]), "{}", last_error());
}

#[test(alone_with_driver)]
fn each_thread_has_a_handle_of_its_own() {
    let (gpu, cublas) = &with_cublas();
    let blob = Blob::new(&[64]);
    blob.write_device(gpu, DATA, &[1.0; 64]);
    let address = blob.0.expose_provenance();
    at_once(4, |_| {
        let blob = std::mem::ManuallyDrop::new(Blob(std::ptr::with_exposed_provenance_mut(address)));
        (0..50).for_each(|_| assert_eq!(blob.asum(DATA), Ok(64.0)));
    });
    let [made, ended, calls] = cublas.counts();
    assert!((1..=4).contains(&made), "{made} handles");
    assert_eq!((ended, calls), (0, 200));
}

#[test(alone_with_driver)]
fn a_failed_call_is_an_error_and_its_handle_is_not_used_again() {
    let (gpu, cublas) = &with_cublas();
    let mut blob = Blob::new(&[2]);
    blob.write_device(gpu, DATA, &[1.0, 2.0]);
    cublas.fail(13);
    assert_refused(blob.asum(DATA), SYNCEDMEM_ERROR_DRIVER, "cublasSasum_v2 of cuBLAS returned status 13");
    cublas.fail(13);
    assert_eq!(blob.scale(DATA, 2.0), Err(SYNCEDMEM_ERROR_DRIVER));
    assert_eq!((blob.asum(DATA), cublas.counts()[0]), (Ok(3.0), 3));
}

#[test]
fn where_cublas_does_not_start_the_host_computes() {
    let errors = in_a_process_with_a_driver(&[], || {
        let (gpu, cublas) = &with_cublas();
        let mut blob = Blob::new(&[2]);
        blob.write_device(gpu, DATA, &[1.0, 2.0]);
        cublas.fail_create(1);
        assert_eq!((blob.asum(DATA), computed_on_host()), (Ok(3.0), 1));
        cublas.fail_create(3);
        blob.scale(DATA, 2.0).unwrap();
        assert_eq!((blob.head(DATA), computed_on_host()), (SYNCEDMEM_HEAD_AT_CPU, 2));
        assert_eq!(blob.read_device(gpu, DATA), [2.0, 4.0]);
        assert_eq!((blob.asum(DATA), computed_on_host()), (Ok(6.0), 2), "the next call tries again");
    });
    assert!(inside() || errors.matches("there is no cuBLAS that starts").count() == 1, "{errors}");
}

#[test]
fn without_cublas_the_host_computes_and_says_so_once() {
    let errors = in_a_process_with_a_driver(&[], || {
        let gpu = simulated_gpu();
        cublas::without();
        let mut blob = Blob::new(&[2]);
        blob.write_device(&gpu, DATA, &[1.0, -2.0]);
        blob.write_device(&gpu, DIFF, &[0.5, 0.5]);
        assert_eq!((blob.asum(DATA), blob.sumsq(DATA), computed_on_host()), (Ok(3.0), Ok(5.0), 2));
        assert_eq!(blob.head(DATA), SYNCEDMEM_SYNCED, "read on the host");
        blob.update().unwrap();
        blob.scale(DATA, 2.0).unwrap();
        assert_eq!((blob.read::<f32>(DATA), computed_on_host()), (vec![1.0, -5.0], 3), "then the data was on the host");
        Cublas::load();
        blob.sync(DATA).unwrap();
        assert_eq!((blob.asum(DATA), computed_on_host()), (Ok(6.0), 3), "one that is loaded later is found");
    });
    assert!(inside() || errors.matches("libcublas").count() == 1, "{errors}");
}

#[test(alone_with_driver)]
fn data_and_diff_on_two_devices_are_refused() {
    let (gpu, _) = &with_cublas();
    gpu.needs_devices(2);
    let mut blob = Blob::new(&[1]);
    blob.write(DATA, &[3f32]);
    blob.write(DIFF, &[1f32]);
    gpu.within(0, || blob.sync(DATA)).unwrap();
    gpu.within(1, || blob.sync(DIFF)).unwrap();
    assert_refused(blob.update(), SYNCEDMEM_ERROR_WRONG_DEVICE, "on device 0 and the diff on device 1");
    assert_eq!(blob.read::<f32>(DATA), [3.0]);
}

#[test(alone_with_driver)]
fn in_a_forked_child_synced_data_is_computed_on_the_host() {
    let (gpu, _) = &with_cublas();
    let mut blob = Blob::new(&[2]);
    blob.write(DATA, &[1f32, 2.0]);
    blob.sync(DATA).unwrap();
    assert_eq!(blob.asum(DATA), Ok(3.0));
    in_a_child(|| {
        assert_eq!((blob.asum(DATA), blob.scale(DATA, 2.0)), (Ok(3.0), Ok(())));
        assert_eq!((blob.read::<f32>(DATA), computed_on_host()), (vec![2.0, 4.0], 0));
    });
    assert_eq!(blob.read_device(gpu, DATA), [1.0, 2.0]);
}
