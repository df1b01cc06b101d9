//! Copies of pageable memory through page-locked slots: the right bytes, in the order of `cudaMemcpy`, and where they
//! cannot go that way, the driver's own.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::support::staging::*;
use crate::support::*;

fn every_byte_arrives_whatever_the_size_and_the_direction() {
    let gpu = with_staging_buffers(gpu());
    for (seed, bytes) in (1..).zip(SIZES) {
        let (there, back) = (noise(seed, bytes), noise(seed + 100, bytes));
        let mut object = Object::holding(&there);
        gpu.calm();
        let device = object.mutable_gpu_data().unwrap().addr();
        assert_eq!(pieces(&gpu, c"HtoD"), gpu.if_simulated((bytes.div_ceil(SLOT), 0)), "{bytes}");
        assert_bytes(&gpu.read(device, bytes), &there, &bytes);
        gpu.write(device, &back);
        gpu.calm();
        let host = object.cpu_data().unwrap();
        assert_eq!(pieces(&gpu, c"DtoH"), gpu.if_simulated((bytes.div_ceil(SLOT), 0)), "{bytes}");
        assert_bytes(unsafe { std::slice::from_raw_parts(host, bytes) }, &back, &bytes);
    }
}

fn a_callers_own_buffer_goes_the_same_way_and_nothing_beside_it_is_touched() {
    let gpu = with_staging_buffers(gpu());
    let bytes = 2 * SLOT + 4099;
    let mut buffer = vec![0xEE_u8; bytes + 200];
    let (there, back) = (noise(1, bytes), noise(2, bytes));
    buffer[100..][..bytes].copy_from_slice(&there);
    let mut object = Object::borrowing(&mut buffer[100..][..bytes]);
    let device = object.mutable_gpu_data().unwrap().addr();
    assert_eq!(pieces(&gpu, c"HtoD"), gpu.if_simulated((3, 0)));
    assert_bytes(&gpu.read(device, bytes), &there, &"to the device");
    gpu.write(device, &back);
    object.cpu_data().unwrap();
    assert_eq!(pieces(&gpu, c"DtoH"), gpu.if_simulated((3, 0)));
    drop(object);
    assert_bytes(&buffer[100..][..bytes], &back, &"to the host");
    assert!(buffer[..100].iter().chain(&buffer[bytes + 100..]).all(|&byte| byte == 0xEE));
}

fn bytes_arrive_where_one_processor_does_all() {
    let gpu = with_staging_buffers(gpu());
    unsafe {
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(usize::try_from(libc::sched_getcpu()).unwrap(), &mut one);
        assert_eq!(libc::sched_setaffinity(0, size_of_val(&one), &one), 0);
    }
    there_and_back(&gpu, &noise(3, 5 * SLOT + 13));
}

fn only_copies_of_the_size_that_is_set_and_more_go_through_slots_and_none_by_default() {
    let cases = [("", usize::MAX), ("8M", 8 << 20), ("1M", 1 << 20), ("0", usize::MAX), ("8Q", usize::MAX)];
    let environment = |&(setting, _): &(&'static str, usize)| {
        vec![("SYNCEDMEM_TEST_POOLS", "on"), ("SYNCEDMEM_STAGE_FROM", setting), simulated_file()]
    };
    let errors = each_alone(&cases, environment, |&(setting, from)| {
        let gpu = simulated_gpu();
        for bytes in [(1 << 20) - 1, 1 << 20, (8 << 20) - 1, 8 << 20] {
            let mut object = Object::holding(&noise(1, bytes));
            gpu.control().simcuda_clear_log();
            object.gpu_data().unwrap();
            let staged = bytes >= from;
            let expected = (if staged { bytes.div_ceil(SLOT) } else { 1 }, usize::from(!staged));
            assert_eq!(pieces(&gpu, c"HtoD"), Some(expected), "{setting}: {bytes}");
        }
    });
    for ((setting, _), errors) in cases.iter().zip(errors) {
        let is_refused = errors.contains("SYNCEDMEM_STAGE_FROM=8Q is not a number of bytes");
        assert_eq!(is_refused, *setting == "8Q" && !inside(), "{errors}");
    }
}

fn what_the_caller_has_page_locked_is_copied_as_it_is() {
    let gpu = with_staging_buffers(gpu());
    let pinned = gpu.pinned(SLOT);
    let contents = noise(1, SLOT);
    unsafe { pinned.pointer().copy_from_nonoverlapping(contents.as_ptr(), SLOT) };
    let mut object = Object::new(SLOT);
    assert_eq!(object.set_cpu_data(pinned.pointer()), SYNCEDMEM_SUCCESS);
    gpu.calm();
    let device = object.gpu_data().unwrap();
    assert_eq!(pieces(&gpu, c"HtoD"), gpu.if_simulated((1, 1)));
    assert_bytes(&gpu.read(device.addr(), SLOT), &contents, &"");
}

fn bytes_are_right_where_every_piece_lags_and_the_source_is_overwritten_at_once() {
    let gpu = with_staging_buffers(gpu());
    let contents = noise(1, 6 * SLOT + 5);
    let mut object = Object::holding(&contents);
    object.overwrite_gpu_data().unwrap();
    object.fill_host(&contents);
    gpu.set_lag(3000);
    let device = object.gpu_data().unwrap().addr();
    unsafe { std::ptr::write_bytes(object.mutable_cpu_data().unwrap(), 0, contents.len()) };
    if gpu.is_simulated() {
        // Read past all streams: it is all there.
        let mut there = vec![0u8; contents.len()];
        assert_eq!(gpu.control().simcuda_read(device as u64, there.as_mut_ptr().cast(), there.len()), 0);
        assert_bytes(&there, &contents, &"to the device");
    }
    assert_bytes(&gpu.read(device, contents.len()), &contents, &"to the device");
    object.overwrite_gpu_data().unwrap();
    gpu.write(device, &contents);
    assert_bytes(&object.host_bytes(contents.len()), &contents, &"to the host");
}

/// Whether the work that holds a stream may come to its end.
static GOES_ON: AtomicBool = AtomicBool::new(false);

extern "C" fn hold(_: *mut std::ffi::c_void) {
    while !GOES_ON.load(Relaxed) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Starts a copy on another thread while a stream of kind `flags` is held with work, and tells whether it ends before
/// the stream goes on, for which it has some milliseconds if it should not.
fn ends_while_a_stream_is_held(gpu: &Gpu, flags: u32, should: bool) -> bool {
    let mut object = Object::holding(&noise(1, SLOT + 1));
    object.overwrite_gpu_data().unwrap();
    object.fill_host(&noise(1, SLOT + 1));
    let mut stream = std::ptr::null_mut();
    gpu.within(0, || assert_eq!(gpu.cuStreamCreate(&mut stream, flags), 0));
    GOES_ON.store(false, Relaxed);
    gpu.within(0, || assert_eq!(gpu.cuLaunchHostFunc(stream, hold, std::ptr::null_mut()), 0));
    gpu.control().simcuda_clear_log();
    let ended = std::thread::scope(|threads| {
        let copy = threads.spawn(|| {
            let object = &mut object;
            object.gpu_data().unwrap();
        });
        // Then it waits; the log has a call only when it is over.
        while gpu.calls_of(c"cuEventRecord") == 0 && !copy.is_finished() {
            std::thread::yield_now();
        }
        let most = if should { HANGS_AFTER * 1000 } else { 100 };
        let start = Instant::now();
        while !copy.is_finished() && start.elapsed() < Duration::from_millis(most.into()) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let ended = copy.is_finished();
        GOES_ON.store(true, Relaxed);
        ended
    });
    assert_bytes(&object.host_bytes(SLOT + 1), &noise(1, SLOT + 1), &"");
    gpu.within(0, || assert_eq!(gpu.cuStreamDestroy_v2(stream), 0));
    ended
}

fn a_copy_waits_for_the_streams_that_the_legacy_one_waits_for_and_for_no_other() {
    let gpu = with_staging_buffers(simulated_gpu());
    const BLOCKING: u32 = 0;
    const NON_BLOCKING: u32 = 1;
    assert!(!ends_while_a_stream_is_held(&gpu, BLOCKING, false));
    assert!(ends_while_a_stream_is_held(&gpu, NON_BLOCKING, true));
}

fn several_threads_copy_at_once_and_one_ring_serves() {
    let gpu = with_staging_buffers(gpu());
    let before = page_locked_blocks(&gpu);
    at_once(4, |thread| (0..6).for_each(|round| there_and_back(&gpu, &noise(thread as u64 * 10 + round, SLOT + 77))));
    assert_eq!(page_locked_blocks(&gpu), before);
}

fn each_context_has_a_ring_of_its_own() {
    let gpu = with_staging_buffers(gpu()).with_devices(2);
    let before = page_locked_blocks(&gpu);
    for _ in 0..2 {
        gpu.calm();
        let contents = noise(1, SLOT + 1);
        let mut object = Object::holding(&contents);
        let elsewhere = |call: &Call| {
            call.function == "cuMemcpyAsync" && call.field("ctx") != Some(&format!("{:?}", gpu.primary(1)))
        };
        let look = |calls: &[Call]| assert!(!calls.iter().any(elsewhere), "{calls:?}");
        let device = gpu.observe(|| gpu.within(1, || object.gpu_data().unwrap().addr()), look);
        assert_bytes(&gpu.read(device, contents.len()), &contents, &"");
        assert_eq!(page_locked_blocks(&gpu), before.map(|before| before + 1));
    }
}

crate::support::harness::tests![
    only_copies_of_the_size_that_is_set_and_more_go_through_slots_and_none_by_default;
    alone_with_driver(&[EVERYTHING]):
    every_byte_arrives_whatever_the_size_and_the_direction,
    a_callers_own_buffer_goes_the_same_way_and_nothing_beside_it_is_touched,
    bytes_arrive_where_one_processor_does_all,
    what_the_caller_has_page_locked_is_copied_as_it_is,
    bytes_are_right_where_every_piece_lags_and_the_source_is_overwritten_at_once,
    a_copy_waits_for_the_streams_that_the_legacy_one_waits_for_and_for_no_other,
    several_threads_copy_at_once_and_one_ring_serves,
    each_context_has_a_ring_of_its_own
];
