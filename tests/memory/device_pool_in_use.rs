//! A device or page-locked block that is still in use serves no request, whether the library or its caller uses it.

use crate::support::pools::*;
use crate::support::sides::*;
use crate::support::*;

const SIZES: [usize; 4] = [100, 4096, 300_000, 3 * MIB];
/// For a real driver: microseconds, longer than a call that does not wait.
const LAG: u32 = 5_000;

#[test(alone_with_driver, POOLS)]
fn a_block_that_an_unknown_stream_still_writes_is_not_reused() {
    let gpu = &gpu();
    for side in SIDES {
        for bytes in SIZES {
            let (stream, source) = (gpu.stream(), gpu.block(bytes));
            let object = side.object(bytes);
            let address = side.address(&object);
            stream.delay(LAG);
            work_on(gpu, side, &object, bytes, &source, stream.handle());
            drop(object);
            let mut next = side.object(bytes);
            write(gpu, side, &mut next, &pattern(3, bytes));
            // Either it is another block, or that work was waited for.
            let waited = gpu.if_simulated(side.address(&next) != address || stream.is_idle());
            assert_ne!(waited, Some(false), "{side:?} {bytes}");
            stream.synchronize();
            assert_bytes(&contents(gpu, side, &mut next, bytes), &pattern(3, bytes), &format_args!("{side:?} {bytes}"));
            gpu.set_lag(0);
            drop(next);
            trim(ALL);
        }
    }
}

#[test(alone_with_driver, POOLS)]
fn a_block_that_an_unknown_stream_still_uses_is_not_given_back_to_the_driver_either() {
    // The simulated driver counts what is freed too early as a broken rule, which the end of each test looks for.
    let gpu = &gpu();
    for side in SIDES {
        let ways: [&dyn Fn(); 2] = [&|| trim(ALL), &|| set_budget(0)];
        for give_back in ways {
            let (stream, source) = (gpu.stream(), gpu.block(5000));
            let object = side.object(5000);
            stream.delay(LAG);
            work_on(gpu, side, &object, 5000, &source, stream.handle());
            drop(object);
            give_back();
            assert_eq!(idle(ALL), 0);
            stream.synchronize();
            gpu.set_lag(0);
            set_budget(1 << 30);
        }
    }
}

const BYTES: usize = 20_000;

#[test(alone_with_driver, POOLS)]
fn a_block_with_more_declared_streams_than_can_be_kept_is_not_handed_out_before_all_of_them_are_done() {
    let gpu = &gpu();
    for side in SIDES {
        let (streams, source) = ([(); 9].map(|()| gpu.stream()), gpu.block(BYTES));
        let mut object = side.object(BYTES);
        for stream in &streams {
            stream.delay(LAG);
            work_on(gpu, side, &object, BYTES, &source, stream.handle());
            record(&mut object, stream.handle());
        }
        let address = side.address(&object);
        drop(object);
        let mut next = side.object(BYTES);
        write(gpu, side, &mut next, &pattern(3, BYTES));
        streams.iter().for_each(Stream::synchronize);
        assert_bytes(&contents(gpu, side, &mut next, BYTES), &pattern(3, BYTES), &format_args!("{side:?}"));
        gpu.set_lag(0);
        gpu.within(0, || assert_eq!(gpu.cuCtxSynchronize(), 0));
        let again = side.object(BYTES);
        let came_back = gpu.if_simulated([side.address(&next), side.address(&again)].contains(&address));
        assert_ne!(came_back, Some(false), "{side:?}");
        drop((next, again));
        trim(ALL);
    }
}

#[test(alone_with_driver, POOLS)]
fn a_block_that_another_device_was_declared_to_use_is_not_reused_before_it_has() {
    let gpu = &simulated_gpu();
    let stream = gpu.stream_of(gpu.primary(1));
    let mut object = gpu.within(0, || on_device(BYTES));
    let address = object.device_address();
    let source = gpu.block(BYTES);
    gpu.set_lag(UNTIL_IT_IS_WAITED_FOR);
    let (to, from) = (address as u64, source.address as u64);
    // The copy is one between peers, in a stream of the other device.
    assert_eq!(gpu.within(1, || gpu.cuMemcpyAsync(to, from, BYTES, stream.handle())), 0);
    let declared = unsafe { syncedmem_record_stream(object.mem(), stream.handle().cast()) };
    assert_eq!(declared, SYNCEDMEM_SUCCESS);
    drop(object);
    let next = gpu.within(0, || on_device(BYTES));
    assert!(next.device_address() != address || stream.is_idle());
    stream.synchronize();
}

#[test(alone_with_driver, POOLS)]
fn declaring_a_stream_needs_an_object_and_nothing_else() {
    let gpu = &gpu();
    let stream = gpu.stream();
    let status = unsafe { syncedmem_record_stream(std::ptr::null_mut(), stream.handle().cast()) };
    assert_eq!(status, SYNCEDMEM_ERROR_INVALID_ARGUMENT);
    record(&mut Object::new(100), stream.handle());
    let mut on_the_host = filled(100_000, 1);
    record(&mut on_the_host, stream.handle());
    let lent = gpu.block(100_000);
    assert_eq!(on_the_host.set_gpu_data(lent.pointer()), SYNCEDMEM_SUCCESS);
    record(&mut on_the_host, stream.handle());
}

/// Does `act` while a thread waits for the context, to get a block that waits there.
fn while_a_thread_waits(gpu: &Gpu, act: impl FnOnce(&std::thread::ScopedJoinHandle<()>)) {
    let (stream, elsewhere) = (gpu.stream(), gpu.block(100));
    drop(Side::Device.object(5000));
    gpu.control().simcuda_hold_streams();
    gpu.within(0, || assert_eq!(gpu.cuMemsetD8Async(elsewhere.address as u64, 1, 100, stream.handle()), 0));
    gpu.control().simcuda_clear_log();
    std::thread::scope(|threads| {
        let waits = threads.spawn(|| drop(Side::Device.object(5000)));
        until(|| gpu.calls_of(c"cuCtxSynchronize") == 1);
        act(&waits);
        gpu.control().simcuda_release_streams();
    });
}

#[test(alone_with_driver, POOLS)]
fn what_is_freed_during_a_synchronise_is_not_cleared_by_it() {
    let gpu = &simulated_gpu();
    let late = Side::Device.object(50_000);
    while_a_thread_waits(gpu, |_| drop(late));
    let (object, calls) = gpu.watch(|| Side::Device.object(50_000));
    assert_eq!((count(&calls, &MEMORY), count(&calls, &["cuCtxSynchronize"])), (0, 1), "{calls:?}");
    drop(object);
}

#[test(alone_with_driver, POOLS)]
fn a_wait_for_one_block_holds_up_no_other_thread() {
    let gpu = &simulated_gpu();
    drop(Side::Host.object(5000));
    while_a_thread_waits(gpu, |waits| {
        // No lock is held meanwhile: others get, give back and ask.
        drop([Side::Device.object(70_000), Side::Host.object(70_000)]);
        give_back(MIB, 1);
        assert!(idle(ALL) > 0);
        assert!(!waits.is_finished());
    });
}

#[test(alone_with_driver, POOLS)]
fn a_block_that_no_pool_keeps_is_freed_behind_the_work_of_the_default_stream() {
    // The simulated driver counts what is freed too early as a broken rule, which the end of each test looks for.
    let gpu = &gpu();
    for side in SIDES {
        let (stream, source) = (std::ptr::null_mut(), gpu.block(5000));
        let object = side.object(5000);
        set_budget(0);
        gpu.set_lag(UNTIL_IT_IS_WAITED_FOR);
        work_on(gpu, side, &object, 5000, &source, stream);
        drop(object);
        assert_eq!(gpu.within(0, || gpu.cuStreamQuery(stream)), 0, "{side:?}: the free waits");
        gpu.set_lag(0);
        set_budget(1 << 30);
    }
}
