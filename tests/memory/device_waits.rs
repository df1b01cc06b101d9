//! No thread of the program's is made to wait for a device whose memory it does not ask for: what runs there may be waiting for
//! what this thread is about to start, as a collective operation does.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::support::pools::*;
use crate::support::*;

const BYTES: usize = 5000;

/// Does `work` while device 1 has work that ends only after `work` has.
fn beside_a_busy_device(gpu: &Gpu, what: &str, work: impl FnOnce() + Send) {
    let (stream, mut block) = (gpu.stream_of(gpu.primary(1)), 0);
    gpu.within(1, || assert_eq!(gpu.cuMemAlloc_v2(&mut block, BYTES), 0));
    gpu.control().simcuda_hold_streams();
    gpu.within(1, || assert_eq!(gpu.cuMemsetD8Async(block, 1, BYTES, stream.handle()), 0));
    let is_done = AtomicBool::new(false);
    let went_on = std::thread::scope(|threads| {
        threads.spawn(|| {
            work();
            is_done.store(true, Ordering::Release);
        });
        let start = Instant::now();
        while !is_done.load(Ordering::Acquire) && start.elapsed() < Duration::from_secs(HANGS_AFTER as u64 / 3) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let went_on = is_done.load(Ordering::Acquire);
        gpu.control().simcuda_release_streams();
        went_on
    });
    assert!(went_on, "{what}: it waited for another device");
    stream.synchronize();
    gpu.within(1, || assert_eq!(gpu.cuMemFree_v2(block), 0));
}

/// Blocks of both sides that device 1's stream may be using still, and that lie idle.
fn idle_of_device_1(gpu: &Gpu) {
    let _pinning = Pinning::always();
    gpu.within(1, || {
        let mut object = filled(BYTES, 1);
        object.gpu_data().unwrap();
    });
}

#[test(alone_with_driver, POOLS, ("SIMCUDA_MEMORY", "64M"))]
fn an_allocation_that_finds_no_memory_does_not_wait_for_another_device() {
    let gpu = &simulated_gpu();
    idle_of_device_1(gpu);
    let pinned = idle(PINNED);
    assert!(idle(DEVICE) > 0 && pinned > 0);
    beside_a_busy_device(gpu, "device memory", || {
        gpu.within(0, || assert!(Object::new(65 * MIB).mutable_gpu_data().is_err()));
    });
    assert!(idle(DEVICE) > 0, "the other device's block lies where it lay");
    let _pinning = Pinning::always();
    gpu.fail_times("cuMemHostAlloc", 1, 2, 2);
    beside_a_busy_device(gpu, "page-locked memory", || {
        gpu.within(0, || assert!(filled(100_000, 2).cpu_data().is_ok()));
    });
    assert!(idle(PINNED) >= pinned);
}

#[test(alone_with_driver, POOLS)]
fn a_free_beyond_the_budget_does_not_wait_for_another_device() {
    let gpu = &simulated_gpu();
    idle_of_device_1(gpu);
    set_budget(idle(PINNED) + BYTES);
    let _pinning = Pinning::always();
    let object = gpu.within(0, || filled(2 * BYTES, 1));
    beside_a_busy_device(gpu, "a free", || drop(object));
    assert!(idle(PINNED) <= budget(PINNED));
}

#[test(alone_with_driver, POOLS)]
fn a_block_comes_back_without_a_wait_for_another_device() {
    let gpu = &simulated_gpu();
    gpu.primary(1);
    drop(on_device(BYTES));
    beside_a_busy_device(gpu, "a block that comes back", || drop(gpu.within(0, || on_device(BYTES))));
}
