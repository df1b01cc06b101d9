//! Device and page-locked blocks that come back: what that costs, what is in them, and whose they are.

use crate::support::pools::*;
use crate::support::sides::*;
use crate::support::*;

const SIZES: [usize; 4] = [100, 4096, 300_000, 3 * MIB];

/// Blocks of both sides come back, each for no more than so many of some calls.
fn blocks_come_back_for(most: &[(&[&str], usize)]) {
    let gpu = &simulated_gpu();
    for (side, bytes) in SIDES.into_iter().flat_map(|side| SIZES.map(|bytes| (side, bytes))) {
        let address = side.pair(bytes);
        for _ in 0..5 {
            let (again, calls) = gpu.watch(|| side.pair(bytes));
            assert_eq!(again, address, "{side:?} {bytes}");
            for &(functions, most) in most {
                assert!(
                    count(&calls, functions) <= most,
                    "{side:?} {bytes}: {most} of {functions:?} at most: {calls:?}"
                );
            }
        }
    }
}

#[test(alone_with_driver, POOLS)]
fn a_block_that_comes_back_costs_no_allocation_no_event_and_at_most_one_synchronise() {
    blocks_come_back_for(&[(&MEMORY, 0), (&["cuEvent"], 0), (&WAITS, 1)]);
}

#[test(alone_with_driver, POOLS)]
fn one_synchronise_clears_everything_that_waits() {
    let gpu = &simulated_gpu();
    drop([(); 10].map(|()| Side::Device.object(5000)));
    let (objects, calls) = gpu.watch(|| [(); 10].map(|()| Side::Device.object(5000)));
    assert_eq!(count(&calls, &MEMORY), 0);
    assert_eq!(count(&calls, &WAITS), 1);
    drop(objects);
}

#[test(alone_with_driver, POOLS)]
fn nothing_is_waited_for_where_nothing_fits() {
    let gpu = &simulated_gpu();
    drop(Side::Device.object(5000));
    let (object, calls) = gpu.watch(|| Side::Device.object(50_000));
    assert_eq!((count(&calls, &WAITS), count(&calls, &["cuMemAlloc"])), (0, 1));
    drop(object);
}

#[test(alone_with_driver, POOLS)]
fn a_block_is_not_handed_out_on_another_device_or_in_another_context() {
    let gpu = &gpu();
    let created = gpu.new_context();
    for side in SIDES {
        let two = gpu.within(0, || [side.object(5000), side.object(5000)]);
        let own = two.each_ref().map(|object| side.address(object));
        drop(two);
        // One of two waiting blocks is handed out, and the other one waits no longer.
        gpu.within(0, || side.pair(5000));
        let another_device = (gpu.devices() > 1).then(|| gpu.primary(1));
        for context in another_device.into_iter().chain([created]) {
            let object = gpu.within_context(context, || side.object(5000));
            assert!(!own.contains(&side.address(&object)), "{side:?}");
            drop(object);
        }
        let are_still_there = own.contains(&gpu.within(0, || side.pair(5000)));
        assert_ne!(gpu.if_simulated(are_still_there), Some(false), "{side:?}");
    }
    trim(ALL);
    assert_eq!(gpu.cuCtxDestroy_v2(created), 0);
}

#[test(alone_with_driver, POOLS)]
fn what_a_reset_took_is_not_handed_out_and_its_address_is_not_freed() {
    let gpu = &gpu();
    for side in SIDES {
        let address = side.pair(5000);
        assert_eq!(gpu.cuDevicePrimaryCtxReset_v2(0), 0);
        let mut context = std::ptr::null_mut();
        assert_eq!(gpu.cuDevicePrimaryCtxRetain(&mut context, 0), 0);
        // A block of another library, most likely at the same address.
        let foreign = if side == Side::Host { gpu.pinned(5000) } else { gpu.block(5000) };
        let is_the_same = foreign.address == address || side == Side::Host || !gpu.is_simulated();
        assert!(is_the_same, "the simulated driver gives addresses out again");
        let object = side.object(5000);
        assert_ne!(side.address(&object), foreign.address, "{side:?}");
        drop(object);
        let address = format!("{:#x}", foreign.address);
        let frees = |call: &Call| call.function.starts_with("cuMemFree") && call.field("ptr") == Some(&address);
        gpu.observe(|| trim(ALL), |calls| assert!(!calls.iter().any(frees), "{calls:?}"));
        assert_eq!(idle(ALL), 0);
    }
}

#[test(alone_with_driver, POOLS)]
fn a_reused_block_reads_zeros_where_zeros_are_promised() {
    let gpu = &gpu();
    for bytes in SIZES {
        for access in [Storage::gpu_data as fn(&mut Storage) -> _, Storage::mutable_gpu_data] {
            let object = Side::Device.object(bytes);
            gpu.write(object.device_address(), &vec![0xAB; bytes]);
            let address = object.device_address();
            drop(object);
            let mut next = Object::new(bytes);
            let now = access(&mut next).unwrap().addr();
            assert_ne!(gpu.if_simulated(now == address), Some(false));
            assert_bytes(&gpu.read(now, bytes), &vec![0; bytes], &bytes);
            drop(next);
            let _pinning = Pinning::always();
            drop(filled(bytes, 0xAB));
            assert!(all_zero(Object::new(bytes).cpu_data().unwrap(), bytes), "{bytes}");
            trim(ALL);
        }
    }
}

#[test(alone_with_driver, POOLS)]
fn what_is_written_in_full_is_not_filled_before() {
    let gpu = &simulated_gpu();
    const BYTES: usize = 100_000;
    drop(Side::Device.object(BYTES));
    let mut object = filled(BYTES, 7);
    let (_, calls) = gpu.watch(|| object.gpu_data().unwrap());
    assert_eq!((count(&calls, &["cuMemset"]), gpu.copies()), (0, [1, 0]));
    drop(object);
    // A copy back that does not come about shows what it would have overwritten.
    drop(Side::Host.object(BYTES));
    let mut object = filled(BYTES, 0xAB);
    object.mutable_gpu_data().unwrap();
    assert_eq!(object.release_cpu(), SYNCEDMEM_SUCCESS);
    gpu.fail("cuMemcpy", 1, 1);
    assert_eq!(object.cpu_data(), Err(SYNCEDMEM_ERROR_DRIVER));
    let mut next = Object::new(BYTES);
    assert!(all_are(next.overwrite_cpu_data().unwrap(), BYTES, 0xAB));
}
