//! Copies through page-locked slots where something fails: the object is as it was, and nothing stays in flight.

use crate::support::staging::*;
use crate::support::*;

fn a_reset_of_the_device_takes_the_ring_and_the_next_copy_makes_another() {
    let gpu = with_staging_buffers(simulated_gpu());
    for round in 0..3 {
        assert_eq!(gpu.cuDevicePrimaryCtxReset_v2(0), 0);
        assert_eq!(page_locked_blocks(&gpu), Some(0));
        let contents = noise(round, 2 * SLOT + 1);
        let mut object = Object::holding(&contents);
        gpu.control().simcuda_clear_log();
        let device = object.gpu_data().unwrap_or_else(|status| panic!("{status:?} {}", last_error()));
        assert_eq!(pieces(&gpu, c"HtoD"), Some((3, 0)));
        assert_bytes(&gpu.read(device.addr(), contents.len()), &contents, &round);
        assert_eq!(page_locked_blocks(&gpu), Some(1));
    }
}

fn without_staging_buffers_the_driver_copies_in_silence() {
    let gpu = simulated_gpu();
    gpu.fail_times("cuMemHostAlloc", 1, 2, 0);
    gpu.fail_times("cuMemHostRegister_v2", 1, 2, 0);
    for (seed, bytes) in (1..).zip(SIZES) {
        let contents = noise(seed, bytes);
        let mut object = Object::holding(&contents);
        gpu.control().simcuda_clear_log();
        let device = object.gpu_data().unwrap().addr();
        assert_eq!(pieces(&gpu, c"HtoD"), Some((1, 1)), "{bytes}");
        assert_bytes(&gpu.read(device, bytes), &contents, &bytes);
    }
    assert_eq!(gpu.calls_of(c"cuMemHostRegister_v2"), 0, "it was asked again and again");
}

/// The status of a failure with that number.
fn status_for(number: i32) -> syncedmem_status_t {
    if matches!(number, 700 | 719) { SYNCEDMEM_ERROR_PENDING } else { SYNCEDMEM_ERROR_DRIVER }
}

/// Has every call that `operation` makes fail in turn, for objects as `made` makes them. `head` is theirs.
/// Of many calls of one function, the first two and the last.
fn every_fault(
    gpu: &Gpu,
    contents: &[u8],
    made: &dyn Fn() -> Object,
    operation: fn(&mut Object) -> Outcome,
    head: u32,
) -> usize {
    let mut object = made();
    let (outcome, calls) = gpu.watch(|| operation(&mut object));
    assert!(outcome.is_ok() && object.head() == 3);
    drop(object);
    let mut count = 0;
    for fault in faults(&calls, &[1, 719, 4242]).filter(|fault| !fault.is_unknown_block()) {
        let all = calls.iter().filter(|call| call.function == fault.function).count() as u32;
        if fault.nth > 2 && fault.nth < all {
            continue;
        }
        let Fault { function, status, .. } = fault;
        let what = fault.to_string();
        let mut object = made();
        let earlier = (object.host_address(), object.device_address());
        gpu.control().simcuda_clear_log();
        gpu.arm(&fault);
        let outcome = operation(&mut object);
        gpu.disarm(&fault);
        let met = |call: &Call| call.function == function && call.status == status;
        assert!(gpu.log().iter().any(met), "{what}: it was not met");
        if let Err(error) = outcome {
            assert_eq!(error, status_for(status), "{what}: {}", last_error());
            let named = last_error().contains(function) && last_error().contains(&format!("({status})"));
            assert!(named, "{what}: {}", last_error());
            assert_eq!((object.host_address(), object.device_address()), earlier, "{what}");
            assert_eq!(object.head(), head, "{what}");
            assert!(operation(&mut object).is_ok(), "{what}: {}", last_error());
        }
        assert_eq!(object.head(), 3, "{what}");
        assert_bytes(&object.host_bytes(contents.len()), contents, &what);
        let device = object.gpu_data().unwrap().addr();
        assert_bytes(&gpu.read(device, contents.len()), contents, &what);
        count += 1;
    }
    count
}

fn every_driver_call_of_a_copy_fails_in_turn_and_the_object_is_as_it_was() {
    let gpu = with_staging_buffers(simulated_gpu());
    // Six pieces, the last one short.
    const BYTES: usize = 5 * SLOT + 13;
    let contents = noise(1, BYTES);
    let to_device = || {
        let mut object = Object::touched(Storage::overwrite_gpu_data, BYTES);
        object.overwrite_cpu_data().unwrap();
        object.fill_host(&contents);
        object
    };
    let to_host = || {
        let mut object = Object::touched(Storage::overwrite_cpu_data, BYTES);
        gpu.write(object.overwrite_gpu_data().unwrap().addr(), &contents);
        object
    };
    let faults = every_fault(&gpu, &contents, &to_device, |object| object.gpu_data(), 1)
        + every_fault(&gpu, &contents, &to_host, |object| object.cpu_data(), 2);
    println!("{faults} faults");
    assert!(faults > 60, "only {faults} faults");
    let now = gpu.account();
    assert_eq!((now.device_blocks, now.pinned_blocks, now.registered_blocks), (0, 0, 0), "{now:?}");
}

fn a_copy_that_fails_leaves_nothing_in_flight() {
    let gpu = with_staging_buffers(simulated_gpu());
    let contents = noise(1, 5 * SLOT);
    let mut object = Object::new(contents.len());
    let device = object.overwrite_gpu_data().unwrap().addr();
    object.fill_host(&contents);
    gpu.control().simcuda_set_lag(20_000);
    gpu.fail("cuMemcpyAsync", 3, 999);
    assert_eq!(object.gpu_data(), Err(SYNCEDMEM_ERROR_DRIVER));
    // No copy is in flight any more: data written now stays.
    let mine = vec![0x5A_u8; 1000];
    assert_eq!(gpu.control().simcuda_write(device as u64, mine.as_ptr().cast(), 1000), 0);
    assert_bytes(&gpu.read(device, 1000), &mine, &"");
}

crate::support::harness::tests![
    alone_with_driver(&[EVERYTHING]):
    every_driver_call_of_a_copy_fails_in_turn_and_the_object_is_as_it_was,
    a_copy_that_fails_leaves_nothing_in_flight;
    in_silence(&[EVERYTHING]):
    a_reset_of_the_device_takes_the_ring_and_the_next_copy_makes_another,
    without_staging_buffers_the_driver_copies_in_silence
];
