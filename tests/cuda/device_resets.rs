//! After a reset of the device, lost contents are never confused with new ones at the same address, and a broken context does
//! not cost the memory of another.

use std::ffi::c_int;

use crate::support::*;

const BYTES: usize = 1000;
const ILLEGAL_ADDRESS: c_int = 700;

/// An object whose block a reset has destroyed, and a new one, which the simulated driver places at the same address.
fn lost_and_new(gpu: &Gpu) -> (Object, Object) {
    let (mut lost, mut new) = (Object::new(BYTES), Object::new(BYTES));
    let address = lost.mutable_gpu_data().unwrap();
    assert_eq!(gpu.cuDevicePrimaryCtxReset_v2(0), 0);
    new.fill_host(&pattern(1, BYTES));
    let now = new.mutable_gpu_data().unwrap_or_else(|status| panic!("{status:?} {}", last_error()));
    assert_eq!(gpu.if_simulated(now), gpu.if_simulated(address));
    (lost, new)
}

#[test(in_silence)]
fn an_object_whose_block_a_reset_took_does_not_free_the_block_that_came_to_its_address() {
    let gpu = gpu();
    let (lost, mut new) = lost_and_new(&gpu);
    gpu.observe(
        || drop(lost),
        |calls| {
            assert!(!names(calls).contains(&"cuMemFree_v2"), "{calls:?}");
            assert_eq!(gpu.account().device_blocks, 1);
        },
    );
    assert_bytes(&new.host_bytes(BYTES), &pattern(1, BYTES), &"");
}

#[test(alone_with_driver, ("SYNCEDMEM_HOST_LIMIT", "100K"), ("SYNCEDMEM_PIN", "always"))]
fn page_locked_memory_that_a_reset_took_leaves_the_limit_when_its_object_ends() {
    let gpu = simulated_gpu();
    let make = || {
        let mut object = Object::new(40_000);
        let address = object.mutable_cpu_data().unwrap_or_else(|status| panic!("{status:?} {}", last_error())).addr();
        assert!(object.is_pinned());
        (object, address)
    };
    let (lost, first) = make();
    assert_eq!(gpu.cuDevicePrimaryCtxReset_v2(0), 0);
    // The simulated driver does not reuse the addresses of the last 256 freed blocks.
    gpu.within(0, || {
        for _ in 0..256 {
            let mut block = std::ptr::null_mut();
            assert_eq!(gpu.cuMemHostAlloc(&mut block, 40_000, 0), 0);
            assert_eq!(gpu.cuMemFreeHost(block), 0);
        }
    });
    let (new, second) = make();
    assert_eq!(first, second, "the test needs the address again");
    drop((lost, new));
    let twice = [make(), make()];
    drop(twice);
}

#[test(alone_with_driver)]
fn data_that_a_reset_took_is_an_error_even_where_other_data_is_at_its_address() {
    let gpu = gpu();
    let (mut lost, _new) = lost_and_new(&gpu);
    assert_refused(lost.cpu_data(), SYNCEDMEM_ERROR_DRIVER, "the device was reset");
    assert_eq!(lost.pull(std::ptr::null_mut()), SYNCEDMEM_ERROR_DRIVER);
    // The object is usable all the same.
    assert!(lost.overwrite_cpu_data().is_ok(), "{}", last_error());
}

#[test(alone_with_driver)]
fn a_reset_context_that_is_still_current_is_brought_back_by_the_next_block_and_by_a_push() {
    let gpu = gpu();
    for pushes in [false, true] {
        assert_eq!(gpu.cuCtxSetCurrent(gpu.primary(0)), 0);
        assert_eq!(gpu.cuDevicePrimaryCtxReset_v2(0), 0);
        let mut object = Object::holding(&pattern(1, BYTES));
        if pushes {
            assert_eq!(object.push(std::ptr::null_mut()), SYNCEDMEM_SUCCESS, "{}", last_error());
        }
        let data = object.gpu_data().unwrap_or_else(|status| panic!("{status:?} {}", last_error()));
        assert_bytes(&gpu.read(data.addr(), BYTES), &pattern(1, BYTES), &pushes);
        assert_eq!(gpu.if_simulated(gpu.current()), gpu.if_simulated(gpu.primary(0)));
        drop(object);
        assert_eq!(gpu.cuCtxSetCurrent(std::ptr::null_mut()), 0);
    }
}

#[test(alone_with_driver)]
fn blocks_that_could_not_be_given_back_are_offered_again_whatever_becomes_of_another_contexts() {
    let gpu = simulated_gpu().with_devices(2);
    let make = |device| gpu.within(device, || Object::touched(Storage::mutable_gpu_data, BYTES));
    let (broken, healthy): (Vec<_>, Vec<_>) = (0..10).map(|_| (make(1), make(0))).unzip();
    gpu.control().simcuda_break_context(gpu.primary(1), ILLEGAL_ADDRESS);
    drop(broken);
    gpu.fail_times("cuMemFree_v2", 1, 999, healthy.len() as u32);
    drop(healthy);
    assert_eq!(gpu.account().device_blocks, 20);
    // When memory runs out, every remaining block is tried once more.
    gpu.fail("cuMemAlloc_v2", 1, 2);
    drop(make(0));
    assert_eq!(gpu.account().device_blocks, 10, "those of the broken context");
    assert_eq!(gpu.cuDevicePrimaryCtxReset_v2(1), 0);
}

#[test(alone_with_driver)]
fn a_callers_block_is_copied_in_its_own_context_and_no_other_is_made_for_it() {
    let gpu = gpu().with_devices(2);
    let mut address = 0;
    gpu.within(1, || assert_eq!(gpu.cuMemAlloc_v2(&mut address, BYTES), 0));
    gpu.write(address as usize, &pattern(5, BYTES));
    let mut object = Object::new(BYTES);
    assert_eq!(object.set_gpu_data(std::ptr::with_exposed_provenance_mut(address as usize)), SYNCEDMEM_SUCCESS);
    let look = |calls: &[Call]| {
        assert!(!names(calls).contains(&"cuDevicePrimaryCtxRetain"), "{calls:?}");
        let copy = calls.iter().find(|call| call.function == "cuMemcpy").unwrap();
        let context = format!("{:#x}", gpu.primary(1).addr());
        assert_eq!(copy.field("ctx"), Some(context.as_str()), "{calls:?}");
    };
    let data = gpu.observe(|| object.host_bytes(BYTES), look);
    assert_bytes(&data, &pattern(5, BYTES), &"");
    drop(object);
    gpu.within(1, || assert_eq!(gpu.cuMemFree_v2(address), 0));
}

#[test(in_silence, ("SYNCEDMEM_CHECK_DEVICE", "1"))]
fn in_a_forked_child_host_data_stays_readable_with_the_device_check_on() {
    let gpu = gpu();
    let mut object = Object::holding(&pattern(1, BYTES));
    gpu.within(0, || assert!(object.gpu_data().is_ok()));
    in_a_child(|| {
        assert_bytes(&object.host_bytes(BYTES), &pattern(1, BYTES), &"in the child");
        assert_eq!(object.gpu_data(), Err(SYNCEDMEM_ERROR_NO_GPU));
    });
}
