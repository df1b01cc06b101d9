//! Idle device and page-locked blocks at the edges: the process ends, devices share a block, threads declare at once, devices
//! are reset, and what is counted stays right.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::pools::*;
use crate::support::*;

fn a_block_that_another_device_was_declared_to_use_is_not_reused_before_it_has() {
    let gpu = &simulated_gpu();
    const BYTES: usize = 20_000;
    let stream = gpu.stream_of(gpu.primary(1));
    let mut object = gpu.within(0, || on_device(BYTES));
    let address = object.device_address();
    let source = gpu.block(BYTES);
    gpu.set_lag(UNTIL_IT_IS_WAITED_FOR);
    let (to, from) = (address as u64, source.address as u64);
    // As a copy between peers, in a stream of the other one's.
    assert_eq!(gpu.within(1, || gpu.cuMemcpyAsync(to, from, BYTES, stream.handle())), 0);
    let declared = unsafe { syncedmem_record_stream(object.mem(), stream.handle().cast()) };
    assert_eq!(declared, SYNCEDMEM_SUCCESS);
    drop(object);
    let next = gpu.within(0, || on_device(BYTES));
    assert!(next.device_address() != address || stream.is_idle());
    stream.synchronize();
}

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

/// As kernels of collective operations do: the other device's part is launched by the very thread that asks for a block.
fn a_block_is_not_held_up_by_what_another_device_does() {
    static GAVE_UP: AtomicBool = AtomicBool::new(false);
    extern "C" fn wait_for_the_other(other: *mut std::ffi::c_void) {
        let other = unsafe { &*other.cast::<AtomicBool>() };
        let start = std::time::Instant::now();
        while !other.load(Ordering::SeqCst) {
            if start.elapsed().as_secs() >= HANGS_AFTER as u64 / 3 {
                return GAVE_UP.store(true, Ordering::SeqCst);
            }
            std::thread::sleep(std::time::Duration::from_micros(50));
        }
    }
    alone_with_pools_on_any_driver(&[], |gpu| {
        gpu.needs_devices(2);
        let stream = gpu.stream_of(gpu.primary(1));
        drop(gpu.within(0, || on_device(5000)));
        let launched = AtomicBool::new(false);
        let data = (&raw const launched).cast_mut().cast();
        assert_eq!(gpu.within(1, || gpu.cuLaunchHostFunc(stream.handle(), wait_for_the_other, data)), 0);
        let object = gpu.within(0, || on_device(5000));
        launched.store(true, Ordering::SeqCst);
        stream.synchronize();
        assert!(!GAVE_UP.load(Ordering::SeqCst), "one device waits for the other, which waits for it");
        drop(object);
    });
}

/// Whatever goes wrong: what is not page-locked any more is not counted either.
fn nothing_page_locked_is_counted_in_the_end() {
    let environment = [("SYNCEDMEM_PINNED_LIMIT", "200M")];
    alone_with_pools(&environment, |gpu| {
        // None says that a context is gone or an address unknown: the library would believe that.
        const STATUSES: [i32; 4] = [1, 2, 999, 712];
        const TO_GET: [&str; 3] = ["cuMemHostAlloc", "cuMemHostRegister_v2", "cuMemFreeHost"];
        const TO_GIVE_BACK: [&str; 3] = ["cuMemHostUnregister", "cuCtxSynchronize", "cuCtxPushCurrent_v2"];
        let mut random = Random::new(1, 0);
        let mut lent = vec![1u8; 6 << 20];
        let mut context = std::ptr::null_mut();
        for round in 0..40 {
            let mut objects: Vec<Object> = Vec::new();
            // The caller's own memory is let go whether or not the driver unlocks it.
            let (functions, lends) = if round % 2 == 0 { (&TO_GET[..], true) } else { (&TO_GIVE_BACK[..], false) };
            for _ in 0..12 {
                if random.below(3) == 0 {
                    gpu.fail(random.of(functions), 1 + random.below(3) as u32, random.of(&STATUSES));
                }
                match random.below(8) {
                    0 | 1 => objects.push(on_host(random.of(&[300_000, 3 << 20, (2 << 20) + 4097]))),
                    2 => {
                        let mut object = Object::new(5 << 20);
                        let _ = object.overwrite_cpu_data();
                        let _ = object.pin();
                        for _ in 0..5 {
                            let _ = object.mutable_cpu_data();
                            let _ = object.gpu_data();
                        }
                        objects.push(object);
                    }
                    3 if lends => {
                        let mut object = Object::new(lent.len());
                        let _ = object.set_cpu_data(lent.as_mut_ptr());
                        let _ = object.pin();
                        let _ = object.gpu_data();
                        if random.below(2) == 0 {
                            let _ = object.unpin();
                        }
                        objects.push(object);
                    }
                    4 => trim(PINNED),
                    5 if !objects.is_empty() => drop(objects.swap_remove(random.below(objects.len()))),
                    6 if round % 10 == 9 => {
                        assert_eq!(gpu.cuDevicePrimaryCtxReset_v2(0), 0);
                        assert_eq!(gpu.cuDevicePrimaryCtxRetain(&mut context, 0), 0);
                    }
                    _ => {
                        let _pinning = Pinning::always();
                        let _ = Object::new(500_000).cpu_data();
                    }
                }
            }
            gpu.control().simcuda_clear_faults();
            drop(objects);
            // The library offers again the blocks that the driver refused to free.
            for _ in 0..40 {
                drop([on_host(4 << 20), filled(100_000, 1)]);
                trim(ALL);
            }
            until(|| gpu.alive().registered_blocks == 0);
            assert_eq!((gpu.alive().pinned_blocks, idle(PINNED)), (0, 0), "round {round}");
            set_pinned_limit(100_000);
            assert!(on_host(100_000).is_pinned(), "round {round}: something is still counted");
            trim(ALL);
            set_pinned_limit(200 << 20);
        }
    });
}

crate::support::harness::tests![
    a_block_is_not_held_up_by_what_another_device_does,
    nothing_page_locked_is_counted_in_the_end;
    alone_with_driver(&[POOLS]): a_block_that_another_device_was_declared_to_use_is_not_reused_before_it_has;
    alone_with_driver(&[POOLS, ("SYNCEDMEM_PINNED_LIMIT", "4M")]): a_request_beyond_the_limit_does_not_cost_what_lies_idle
];
