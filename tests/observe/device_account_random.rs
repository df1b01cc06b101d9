//! The account of page-locked and device memory, after each of thousands of random steps, against an account that is made
//! from the simulated driver's log alone; and what threads do to each other.

use crate::support::bookkeeper::*;
use crate::support::figures::*;
use crate::support::pools::*;
use crate::support::*;

/// Of malloc's cache, of the pool, and large enough for a mapping.
const SIZES: [usize; 6] = [0, 100, 5_000, 60_000, 300_000, 3 << 20];

/// Entry points, and how one of their calls may fail.
const FAULTS: [(&str, i32); 8] = [
    ("cuMemAlloc_v2", 2),
    ("cuMemAlloc_v2", 999),
    ("cuMemHostAlloc", 2),
    ("cuMemcpy", 999),
    ("cuMemcpyAsync", 999),
    ("cuMemsetD8_v2", 999),
    ("cuEventRecord", 999),
    ("cuEventCreate", 2),
];

/// Does so many random operations on several objects, and checks every figure after each.
fn at_random(gpu: &Gpu, seed: u64, steps: usize, faults: bool) {
    const MOST: usize = SIZES[SIZES.len() - 1];
    set_age(1e6);
    let mut random = Random::new(seed, 0);
    let stream = gpu.stream();
    let mut pageable: Vec<Vec<u8>> = (0..4).map(|_| vec![1; MOST]).collect();
    let pinned: Vec<Foreign> = (0..4).map(|_| gpu.pinned(MOST)).collect();
    let device: Vec<Foreign> = (0..4).map(|_| gpu.block(MOST)).collect();
    let own = |blocks: &[Foreign]| blocks.iter().map(|block| (block.address, MOST)).collect::<Vec<_>>();
    let mut books = Bookkeeper::new(&own(&device), &own(&pinned));
    let mut objects: Vec<Object> = (0..4).map(|_| Object::new(random.of(&SIZES))).collect();
    books.expected.objects_made = 4;
    let mut pinning = None;
    for step in 0..steps {
        let at = random.below(objects.len());
        let mut is_calm = true;
        match random.below(40) {
            0..3 => {
                let new = Object::new(random.of(&SIZES));
                books.watch(gpu, || drop(std::mem::replace(&mut objects[at], new)));
                books.expected.objects_made += 1;
                books.expected.objects_ended += 1;
            }
            3..5 => pinning = pinning.is_none().then(Pinning::always),
            5 => books.watch(gpu, || trim(random.below(4) as i32)),
            6 => books.watch(gpu, || set_pools(random.below(4) > 0)),
            other => {
                if faults && other < 12 {
                    let (function, status) = random.of(&FAULTS);
                    gpu.control().simcuda_clear_faults();
                    gpu.fail_times(function, 1, status, random.of(&[1, 0]));
                    is_calm = false;
                }
                let operation = random.of(&OPERATIONS);
                let host = if pinning.is_some() { pinned[at].pointer() } else { pageable[at].as_mut_ptr() };
                let with = With { host, device: device[at].pointer(), stream: stream.handle() };
                // New blocks are where their thread is; copies on streams stay on the stream's device.
                let device =
                    if matches!(operation, Operation::Push | Operation::Pull) { 0 } else { random.below(2) as i32 };
                let work = |object: &mut Object| gpu.within(device, || object.run(operation, &with));
                let outcome = books.step(gpu, &mut objects, at, operation, work);
                gpu.control().simcuda_clear_faults();
                let is_refused = outcome == Err(SYNCEDMEM_ERROR_INVALID_STATE);
                assert!(
                    outcome.is_ok() || is_refused || !is_calm,
                    "{step}: {operation:?} {outcome:?} {}",
                    last_error()
                );
            }
        }
        books.check(gpu, &objects, is_calm);
    }
    let last = objects.len() as u64;
    books.watch(gpu, || objects.clear());
    books.expected.objects_ended += last;
    books.check(gpu, &objects, true);
    if !faults {
        assert_eq!(figures().waits.count, books.started(), "every copy that was started is known to be done once");
    }
    set_pools(true);
}

fn every_figure_agrees_with_the_drivers_log_after_every_one_of_thousands_of_random_steps() {
    alone_with_pools(&[ACCESSES], |gpu| at_random(gpu, 1, 4000, false));
}

fn every_figure_agrees_where_the_drivers_calls_fail_now_and_then() {
    alone_with_pools(&[ACCESSES], |gpu| at_random(gpu, 2, 4000, true));
}

fn what_threads_take_from_each_other_is_counted_once() {
    const THREADS: usize = 4;
    const TURNS: usize = 500;
    alone_with_pools(&[ACCESSES], |gpu| {
        // Every object that is wanted on the device drives another's out.
        gpu.set_memory(3 * MIB);
        std::thread::scope(|threads| {
            for thread in 0..THREADS {
                threads.spawn(move || {
                    let mut random = Random::new(1, thread as u64);
                    let mut objects: Vec<Object> = (0..3).map(|_| Object::new(MIB)).collect();
                    for object in &mut objects {
                        assert_eq!(object.set_evictable(SYNCEDMEM_EVICT_REDUNDANT), SYNCEDMEM_SUCCESS);
                    }
                    for _ in 0..TURNS {
                        let object = &mut objects[random.below(3)];
                        // Where all that could go is in use just now, it is refused.
                        let outcome = match random.below(4) {
                            0 => object.mutable_cpu_data(),
                            _ => object.gpu_data(),
                        };
                        if outcome.is_ok() {
                            object.end_access();
                        }
                    }
                });
            }
        });
        let stats = counts();
        assert!(stats.device_evictions.count > 10, "{:?}", stats.device_evictions);
        for memory in [stats.pageable, stats.device] {
            let (came, went) = (memory.allocations.count + memory.pool_hits.count, memory.frees);
            assert_eq!((memory.live, went.count), (0, came), "{memory:?}");
            assert_eq!(went.bytes, memory.allocations.bytes + memory.pool_hits.bytes);
        }
        let copies = [stats.to_device_pageable.count, stats.to_host_pageable.count].map(|count| count as usize);
        assert_eq!(gpu.copies(), copies);
        let given = gpu.log().iter().filter(|call| call.function == "cuMemAlloc_v2" && call.status == 0).count();
        assert_eq!(stats.device.allocations.count, given as u64);
        let accesses = stats.device_reads + stats.device_writes + stats.host_writes;
        assert_eq!(accesses as usize, THREADS * TURNS);
        trim(ALL);
    });
}

crate::support::harness::tests![
    every_figure_agrees_with_the_drivers_log_after_every_one_of_thousands_of_random_steps,
    every_figure_agrees_where_the_drivers_calls_fail_now_and_then,
    what_threads_take_from_each_other_is_counted_once,
];
