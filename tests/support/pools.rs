//! The pools, as a program sees them from outside.

use std::time::{Duration, Instant};

use super::gpu::{Gpu, gpu, in_a_process_with_a_driver, simulated_gpu};
use super::*;

pub const PAGEABLE: i32 = 0;
pub const PINNED: i32 = 1;
pub const DEVICE: i32 = 2;
pub const ALL: i32 = 3;

/// Gpu::drop and `gpu` leave the pools on, as they are by default.
pub const POOLS: (&str, &str) = ("SYNCEDMEM_TEST_POOLS", "on");

pub const KIB: usize = 1 << 10;
pub const MIB: usize = 1 << 20;

pub fn are_wanted() -> bool {
    std::env::var(POOLS.0).is_ok_and(|value| value == POOLS.1)
}

pub fn idle(memory: i32) -> usize {
    let mut bytes = usize::MAX;
    assert_eq!(unsafe { syncedmem_idle_bytes(memory, &mut bytes) }, SYNCEDMEM_SUCCESS);
    bytes
}

pub fn trim(memory: i32) {
    assert_eq!(syncedmem_trim(memory), SYNCEDMEM_SUCCESS);
}

pub fn set_pools(on: bool) {
    set_budget(if on { usize::MAX } else { 0 });
}

pub fn set_budget(bytes: usize) {
    assert_eq!(syncedmem_set_pool_budget(bytes), SYNCEDMEM_SUCCESS);
}

pub fn budget(memory: i32) -> usize {
    let mut bytes = usize::MAX;
    assert_eq!(unsafe { syncedmem_get_pool_budget(memory, &mut bytes) }, SYNCEDMEM_SUCCESS);
    bytes
}

pub fn set_age(seconds: f64) {
    assert_eq!(syncedmem_set_pool_age(seconds), SYNCEDMEM_SUCCESS);
}

/// An object with a device block, of which nothing is written.
pub fn on_device(bytes: usize) -> Object {
    Object::touched(Storage::overwrite_gpu_data, bytes)
}

/// An object with a host block, page-locked if that can be.
pub fn on_host(bytes: usize) -> Object {
    let _pinning = Pinning::always();
    Object::touched(Storage::overwrite_cpu_data, bytes)
}

pub fn set_pinned_limit(bytes: usize) {
    assert_eq!(syncedmem_set_pinned_limit(bytes), SYNCEDMEM_SUCCESS);
}

/// Page faults so far: of this thread, or of all (`libc::RUSAGE_SELF`).
pub fn page_faults(whose: i32) -> i64 {
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    assert_eq!(unsafe { libc::getrusage(whose, &mut usage) }, 0);
    usage.ru_minflt + usage.ru_majflt
}

/// An object of `bytes` whose host block is written in full with `fill`.
pub fn filled(bytes: usize, fill: u8) -> Object {
    let mut object = Object::new(bytes);
    let data = object.overwrite_cpu_data().unwrap();
    unsafe { data.write_bytes(fill, bytes) };
    object
}

/// Gives back a host block of `bytes` that is full of `fill`, and says where it was.
pub fn give_back(bytes: usize, fill: u8) -> usize {
    filled(bytes, fill).host_address()
}

pub fn all_are(data: *const u8, bytes: usize, value: u8) -> bool {
    let bytes = unsafe { std::slice::from_raw_parts(data, bytes) };
    // Each is as the one before it: a comparison of memory, which is fast in a test that is not optimised, too.
    bytes.first().is_none_or(|&first| first == value && bytes[1..] == bytes[..bytes.len() - 1])
}

/// Bytes of the process that are in physical memory.
pub fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// Looks at `is_so` until it is.
#[track_caller]
pub fn until(mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(HANGS_AFTER.into()), "it does not come");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The threads of this process, by the system's numbers.
pub fn threads() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    tasks.map(|task| task.unwrap().file_name().into_string().unwrap()).collect()
}

/// Like `in_a_process_with_a_driver`, for the test that `body` is written in, with the simulated driver and with pools.
/// Nothing has used the pools of that process before.
pub fn alone_with_pools<F: FnOnce(&Gpu)>(environment: &[(&str, &str)], body: F) -> String {
    with_pools_on(simulated_gpu, environment, body)
}

/// Like `alone_with_pools`, with any driver.
pub fn alone_with_pools_on_any_driver<F: FnOnce(&Gpu)>(environment: &[(&str, &str)], body: F) -> String {
    with_pools_on(gpu, environment, body)
}

fn with_pools_on<F: FnOnce(&Gpu)>(driver: fn() -> Gpu, environment: &[(&str, &str)], body: F) -> String {
    let environment: Vec<_> = environment.iter().copied().chain([POOLS]).collect();
    in_a_process_with_a_driver(&environment, || body(&driver()))
}
