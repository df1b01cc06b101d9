//! How much of a device's and of page-locked memory may lie idle, and who gets it before a request fails.

use crate::support::pools::*;
use crate::support::sides::count;
use crate::support::*;

#[test(alone_with_driver, POOLS, ("SIMCUDA_MEMORY", "64M"))]
fn by_default_an_eighth_of_a_device_may_lie_idle_and_a_quarter_of_what_is_free() {
    let gpu = &simulated_gpu();
    drop([(); 5].map(|()| on_device(4 * MIB)));
    assert_eq!(budget(DEVICE), 8 * MIB);
    assert_eq!(idle(DEVICE), 8 * MIB);
    // Another program takes most of what is left. The next fresh block finds out.
    let (mut free, mut total) = (0, 0);
    gpu.within(0, || assert_eq!(gpu.cuMemGetInfo_v2(&mut free, &mut total), 0));
    let others = gpu.block(free - MIB);
    drop(on_device(100 * KIB));
    assert!(idle(DEVICE) <= (MIB + 8 * MIB) / 4, "{}", idle(DEVICE));
    drop(others);
}

/// Objects of many sizes come and go, as in nets whose shapes vary.
#[test(alone_with_driver, POOLS)]
fn idle_and_used_blocks_of_each_kind_stay_within_the_peak_of_use() {
    let gpu = &simulated_gpu();
    for (memory, make) in [(DEVICE, on_device as fn(usize) -> Object), (PINNED, on_host)] {
        set_budget(1 << 30);
        let mut random = Random::new(1, 0);
        let (mut objects, mut held, mut peak, mut fresh) = (Vec::<Object>::new(), 0, 0, 0);
        for step in 0..600 {
            if objects.len() < 8 && random.below(2) == 0 {
                let size = [2 * KIB, 200 * KIB, MIB, 3 * MIB][random.below(4)];
                let bytes = size + random.below(size / 2);
                let (object, calls) = gpu.watch(|| make(bytes));
                fresh += count(&calls, &["cuMemAlloc", "cuMemHostAlloc"]);
                objects.push(object);
                held += bytes;
                peak = peak.max(held);
            } else if !objects.is_empty() {
                held -= objects.swap_remove(random.below(objects.len())).word(16);
            }
            // A block in use may be an eighth larger than its object.
            let all = held + idle(memory);
            assert!(
                all <= peak + peak / 8 + MIB.max(peak / 12),
                "step {step}: {all} bytes, when {peak} were once in use"
            );
        }
        assert!(fresh < 280, "{fresh} blocks are the driver's, so few come back");
        objects.clear();
        trim(memory);
    }
}

#[test(alone_with_driver, POOLS, ("SYNCEDMEM_POOL_BUDGET", "1M"))]
fn each_device_has_a_budget_of_its_own() {
    let gpu = &simulated_gpu();
    drop(on_device(MIB));
    gpu.within(1, || drop(on_device(MIB)));
    assert_eq!(idle(DEVICE), 2 * MIB);
    drop(on_device(3 * MIB / 4));
    assert!(idle(DEVICE) <= 2 * MIB);
    gpu.within(1, || drop(on_device(100)));
    // The oldest goes, of the device that has too much.
    assert_eq!(idle(DEVICE), 3 * MIB / 4 + 100);
}

#[test(alone_with_driver, POOLS)]
fn budgets_may_be_changed_at_any_time() {
    let gpu = &gpu();
    for (memory, make) in [(DEVICE, on_device as fn(usize) -> Object), (PINNED, on_host)] {
        set_budget(1 << 30);
        assert_eq!(budget(memory), 1 << 30);
        drop([3, 2, 1].map(|size| make(size * MIB)));
        assert_eq!(idle(memory), 6 * MIB);
        set_budget(4 * MIB);
        assert_eq!(idle(memory), 3 * MIB, "the oldest went first");
        set_budget(0);
        assert_eq!(idle(memory), 0);
    }
    if gpu.is_simulated() {
        assert_eq!((gpu.account().device_bytes, gpu.account().pinned_bytes), (0, 0));
    }
}

#[test(alone_with_driver, POOLS, ("SYNCEDMEM_POOL_AGE", "0.05"))]
fn no_block_of_the_drivers_is_given_back_for_its_age() {
    let gpu = &simulated_gpu();
    drop((on_device(MIB), on_host(MIB), on_host(4 * MIB)));
    let calls = gpu.calls();
    for _ in 0..2 {
        give_back(5 * MIB, 1);
        until(|| idle(PAGEABLE) == 0);
    }
    assert_eq!((idle(DEVICE), idle(PINNED)), (MIB, 5 * MIB));
    assert_eq!(gpu.calls(), calls, "the thread that gives pageable memory back has called the driver");
}

#[test(alone_with_driver, POOLS)]
fn without_pools_a_block_is_given_back_at_once_and_made_as_the_original_makes_it() {
    let gpu = &simulated_gpu();
    drop((on_device(MIB), on_host(MIB)));
    set_pools(false);
    assert_eq!((gpu.account().device_blocks, gpu.account().pinned_blocks), (0, 0));
    for bytes in [100, 5 * MIB] {
        let device = (on_device as fn(usize) -> Object, "cuMemAlloc_v2", "cuMemFree_v2");
        for (make, made, ended) in [device, (on_host, "cuMemHostAlloc", "cuMemFreeHost")] {
            let (object, making) = gpu.watch(|| make(bytes));
            let ((), ending) = gpu.watch(|| drop(object));
            assert!(names(&making).contains(&made) && names(&ending).contains(&ended), "{making:?} {ending:?}");
        }
        assert_eq!(idle(ALL), 0);
    }
}

#[test(alone_with_driver, POOLS, ("SIMCUDA_MEMORY", "16M"), ("SYNCEDMEM_POOL_BUDGET", "1G"))]
fn what_lies_idle_in_another_context_makes_room_unless_the_device_could_never_hold_what_is_asked() {
    let gpu = &simulated_gpu();
    let mut created = std::ptr::null_mut();
    assert_eq!(gpu.cuCtxCreate_v2(&mut created, 0, 0), 0);
    assert_eq!(gpu.cuCtxPopCurrent_v2(&mut std::ptr::null_mut()), 0);
    let takes: [fn(&mut Object) -> bool; 2] =
        [|object| object.gpu_data().is_ok(), |object| object.push(std::ptr::null_mut()) == SYNCEDMEM_SUCCESS];
    for takes in takes {
        gpu.within_context(created, || drop(on_device(12 * MIB)));
        let outcome = gpu.within(0, || Object::new(17 * MIB).gpu_data());
        assert_eq!((outcome, idle(DEVICE)), (Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY), 12 * MIB));
        let mut large = filled(12 * MIB, 1);
        assert!(gpu.within(0, || takes(&mut large)), "{}", last_error());
        assert_eq!(idle(DEVICE), 0);
        drop(large);
        trim(ALL);
    }
    assert_eq!(gpu.cuCtxDestroy_v2(created), 0);
}

/// Calls that page-lock memory.
fn locks(calls: &[Call]) -> usize {
    names(calls).iter().filter(|name| name.starts_with("cuMemHostAlloc") || name.contains("Register_")).count()
}

#[test]
fn beyond_the_pinned_limit_a_block_is_pageable() {
    let errors = alone_with_pools_on_any_driver(&[("SYNCEDMEM_PINNED_LIMIT", "1M")], |gpu| {
        let mut limit = 0;
        assert_eq!(unsafe { syncedmem_get_pinned_limit(&mut limit) }, SYNCEDMEM_SUCCESS);
        assert_eq!(limit, MIB);
        let mut first = on_host(700 * KIB);
        assert!(first.is_pinned());
        for bytes in [400 * KIB, 3 * MIB] {
            let mut second = gpu.observe(|| on_host(bytes), |calls| assert_eq!(locks(calls), 0, "{calls:?}"));
            assert!(!second.is_pinned());
        }
        let mut small = on_host(100 * KIB);
        assert!(small.is_pinned(), "there is room for that");
        let is_within_the_limit = || !gpu.is_simulated() || gpu.account().pinned_bytes <= MIB;
        assert!(is_within_the_limit());
        drop((first, small));
        let mut again = on_host(900 * KIB);
        assert!(again.is_pinned(), "what lay idle made room");
        assert!(is_within_the_limit());
    });
    if !inside() {
        assert_eq!(errors.matches("not page-locked").count(), 1, "{errors}");
        assert!(errors.contains("SYNCEDMEM_PINNED_LIMIT"), "{errors}");
    }
}

#[test(alone_with_driver, POOLS)]
fn a_pinned_limit_that_is_raised_holds_at_once() {
    let gpu = &gpu();
    for bytes in [100 * KIB, 3 * MIB] {
        set_pinned_limit(0);
        assert!(!on_host(bytes).is_pinned());
        assert_eq!(gpu.is_simulated().then(|| gpu.account().pinned_bytes), gpu.if_simulated(0));
        set_pinned_limit(64 * MIB);
        assert!(on_host(bytes).is_pinned(), "{bytes}");
    }
}

#[test(alone_with_driver, POOLS, ("SYNCEDMEM_PINNED_LIMIT", "4M"))]
fn a_request_beyond_the_limit_does_not_cost_what_lies_idle() {
    let _gpu = gpu();
    let held = on_host(1 << 20);
    drop(on_host(1 << 20));
    let before = idle(PINNED);
    assert!(before >= 1 << 20);
    // No room that idle blocks could give would do for it.
    assert!(!on_host(16 << 20).is_pinned());
    assert_eq!(idle(PINNED), before);
    // Here it does.
    assert!(on_host(3 << 20).is_pinned());
    drop(held);
}
