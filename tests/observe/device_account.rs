//! The account of page-locked and device memory, and of copies, against the simulated driver's log.

use crate::support::figures::*;
use crate::support::pools::*;
use crate::support::*;

#[test]
fn under_a_limit_for_all_host_memory_each_kind_is_counted_by_itself() {
    for accounting in ["on", "off"] {
        let environment = [("SYNCEDMEM_ACCOUNT", accounting), ("SYNCEDMEM_HOST_LIMIT", "8M")];
        in_a_process_with_a_driver(&environment, || {
            let _gpu = gpu();
            let _pageable = Object::touched(Storage::overwrite_cpu_data, 2 * MIB);
            let pinned = on_host(MIB);
            assert_eq!((figures().pageable.live, figures().pinned.live), (2 * MIB as u64, MIB as u64));
            drop(pinned);
            assert_eq!((figures().pageable.live, figures().pinned.live), (2 * MIB as u64, 0));
        });
        if inside() {
            return;
        }
    }
}

#[test(alone_with_driver, ON)]
fn a_reset_of_the_device_leaves_no_memory_behind_in_the_account() {
    let gpu = &gpu();
    let mut objects = [MIB, 2 * MIB].map(Object::new);
    objects.iter_mut().for_each(|object| _ = object.mutable_gpu_data().unwrap());
    assert_eq!(gpu.cuDevicePrimaryCtxReset_v2(0), 0);
    let alive = || gpu.is_simulated().then(|| gpu.alive());
    assert_eq!(alive().map(|alive| alive.device_blocks), gpu.if_simulated(0));
    let new = Object::touched(Storage::mutable_gpu_data, MIB);
    drop(objects);
    let stats = counts();
    assert_eq!(stats.device.live, MIB as u64);
    assert_eq!(alive().map(|alive| alive.device_bytes), gpu.if_simulated(MIB));
    assert_eq!((stats.device.allocations, stats.device.frees), (sum(3, 4 * MIB), sum(2, 3 * MIB)));
    drop(new);
    assert_eq!(counts().device.live, 0);
}

#[test(alone_with_driver, ON)]
fn a_copy_on_a_stream_is_counted_when_it_starts_and_once_when_it_is_known_to_be_done() {
    let gpu = &gpu();
    let stream = gpu.stream();
    let _pinning = Pinning::always();
    let mut object = Object::touched(Storage::overwrite_cpu_data, MIB);
    if gpu.is_simulated() {
        gpu.control().simcuda_hold_streams();
    }
    assert_eq!(object.push(stream.handle()), SYNCEDMEM_SUCCESS);
    assert_eq!((counts().to_device_pinned, counts().waits.count), (sum(1, MIB), 0));
    if gpu.is_simulated() {
        assert_eq!(object.is_ready(), Ok(false));
        assert_eq!(counts().waits.count, 0, "it goes on");
    }
    gpu.calm();
    assert_eq!((object.wait(), object.wait()), (SYNCEDMEM_SUCCESS, SYNCEDMEM_SUCCESS));
    assert_eq!(counts().waits.count, 1);
    object.mutable_gpu_data().unwrap();
    assert_eq!(object.pull(stream.handle()), SYNCEDMEM_SUCCESS);
    // A second one has nothing to do.
    assert_eq!(object.pull(stream.handle()), SYNCEDMEM_SUCCESS);
    object.cpu_data().unwrap();
    assert_eq!((counts().to_host_pinned, counts().waits.count), (sum(1, MIB), 2));
    // An object's end waits for what is in flight, too.
    object.mutable_cpu_data().unwrap();
    assert_eq!(object.push(stream.handle()), SYNCEDMEM_SUCCESS);
    drop(object);
    assert_eq!((counts().to_device_pinned, counts().waits.count), (sum(2, 2 * MIB), 3));
}

#[test]
fn what_threads_take_from_each_other_is_counted_once() {
    const THREADS: usize = 4;
    const TURNS: usize = 500;
    alone_with_pools(&[ON], |gpu| {
        // The device has room for a few of the objects.
        gpu.set_memory(3 * MIB);
        std::thread::scope(|threads| {
            for thread in 0..THREADS {
                threads.spawn(move || {
                    let mut random = Random::new(1, thread as u64);
                    let mut objects: Vec<Object> = (0..3).map(|_| Object::new(MIB)).collect();
                    for _ in 0..TURNS {
                        let object = &mut objects[random.below(3)];
                        // It is refused where other threads have all room just now.
                        let outcome = match random.below(4) {
                            0 => object.mutable_cpu_data(),
                            _ => object.gpu_data(),
                        };
                        if outcome.is_ok() && random.below(2) == 0 {
                            object.release_gpu();
                        }
                    }
                });
            }
        });
        let stats = counts();
        assert!(stats.device_failures.count > 0, "{:?}", stats.device_failures);
        for memory in [stats.pageable, stats.device] {
            let (came, went) = (memory.allocations.count + memory.pool_hits.count, memory.frees);
            assert_eq!((memory.live, went.count), (0, came), "{memory:?}");
            assert_eq!(went.bytes, memory.allocations.bytes + memory.pool_hits.bytes);
        }
        let copies = [stats.to_device_pageable.count, stats.to_host_pageable.count].map(|count| count as usize);
        assert_eq!(gpu.copies(), copies);
        let given = gpu.log().iter().filter(|call| call.function == "cuMemAlloc_v2" && call.status == 0).count();
        assert_eq!(stats.device.allocations.count, given as u64);
        trim(ALL);
    });
}
