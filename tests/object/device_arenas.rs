//! Blocks on the device that a thread's arena lends to the layers of a net.

use super::given_up::{GONE, LAYER, LAYER_WITH_ZEROS, discard, inner, place, shared, within};
use crate::support::*;
use syncedmem::abi::net;

const BYTES: usize = 100_000;
/// The bytes, rounded as the arena rounds them.
const ROOM: usize = 100_096;

fn planned(bytes: usize, offset: usize, whole: usize) -> Object {
    let mut object = shared(bytes);
    place(&mut object, offset, whole);
    object
}

fn lend(object: &mut Object) -> usize {
    within(LAYER, || object.mutable_gpu_data().unwrap()).addr()
}

/// Blocks and bytes that the driver has given out.
fn held(gpu: &Gpu) -> Option<(usize, usize)> {
    gpu.if_simulated(()).map(|()| {
        let account = gpu.alive();
        (account.device_blocks, account.device_bytes)
    })
}

#[test(alone_with_driver)]
fn blocks_with_lives_one_after_the_other_are_one_and_are_handed_over_without_a_wait() {
    let gpu = gpu();
    let (mut first, mut second) = (planned(BYTES, 0, 2 * ROOM), planned(BYTES, 0, 2 * ROOM));
    let of_first = lend(&mut first);
    assert_eq!((first.head(), of_first % 256), (2, 0), "as the driver's blocks");
    gpu.observe(
        || {
            discard(&mut first);
            assert_eq!(lend(&mut second), of_first);
            assert_eq!(lend(&mut first), of_first + ROOM, "both are alive");
        },
        |calls| {
            let waits = |call: &&Call| call.function.contains("Synchronize") || call.function.contains("Mem");
            assert!(!calls.iter().any(|call| waits(&call)), "{calls:?}");
        },
    );
    assert!(held(&gpu).is_none_or(|held| held == (1, 2 * ROOM)));
}

#[test(alone_with_driver)]
fn what_layers_did_not_write_on_the_device_is_zeros_when_it_is_read_from_outside() {
    let gpu = gpu();
    let (mut before, mut object) = (planned(BYTES, 0, ROOM), planned(BYTES, 0, ROOM));
    let old = lend(&mut before);
    gpu.write(old, &[9; BYTES]);
    discard(&mut before);
    unsafe { net::written(inner(&mut object), 1000) };
    assert_eq!(lend(&mut object), old);
    gpu.write(old, &[1; 1000]);
    let read = object.host_bytes(BYTES);
    assert!(read[..1000] == [1; 1000] && read[1000..].iter().all(|&byte| byte == 0));
}

#[test(alone_with_driver)]
fn an_arena_that_is_too_small_grows_into_one_block_once_nothing_is_lent() {
    let gpu = gpu();
    let (mut first, mut second) = (planned(BYTES, 0, ROOM), planned(BYTES, 0, ROOM));
    lend(&mut first);
    lend(&mut second);
    assert!(held(&gpu).is_none_or(|held| held == (2, 2 * ROOM)), "{:?}", held(&gpu));
    discard(&mut first);
    discard(&mut second);
    let of_first = lend(&mut first);
    assert_eq!(lend(&mut second), of_first + ROOM);
    assert!(held(&gpu).is_none_or(|held| held == (1, 2 * ROOM)), "{:?}", held(&gpu));
    let mut larger = planned(3 * BYTES, 0, 3 * ROOM);
    discard(&mut first);
    discard(&mut second);
    lend(&mut larger);
    assert!(held(&gpu).is_none_or(|held| held == (1, 3 * ROOM)), "{:?}", held(&gpu));
    drop((first, second, larger));
    assert!(held(&gpu).is_none_or(|held| held.0 == 0), "the last shared object's end gives it back");
}

#[test(alone_with_driver)]
fn a_read_from_outside_is_an_error_if_the_contents_are_gone_and_keeps_them_if_not() {
    let gpu = gpu();
    let (mut gone, mut alive) = (shared(BYTES), shared(BYTES));
    lend(&mut gone);
    let view = lend(&mut alive);
    gpu.write(view, &[3; BYTES]);
    discard(&mut gone);
    for access in [Storage::cpu_data, Storage::gpu_data, Storage::mutable_gpu_data] {
        assert_refused(access(&mut gone).unwrap_err(), SYNCEDMEM_ERROR_INVALID_STATE, GONE.to_str().unwrap());
    }
    assert_refused(gone.push(std::ptr::null_mut()), SYNCEDMEM_ERROR_INVALID_STATE, GONE.to_str().unwrap());
    within(LAYER, || {
        assert_refused(gone.gpu_data().unwrap_err(), SYNCEDMEM_ERROR_INVALID_STATE, GONE.to_str().unwrap());
    });
    assert!(alive.host_bytes(BYTES) == [3; BYTES]);
    discard(&mut alive);
    assert_ne!(lend(&mut gone), view, "the view's memory is kept apart");
    assert_eq!(alive.gpu_data().unwrap().addr(), view);
}

#[test(alone_with_driver)]
fn a_layer_without_code_for_the_device_reads_and_writes_what_others_have_there() {
    let gpu = gpu();
    let (mut bottom, mut top) = (shared(BYTES), shared(BYTES));
    let address = lend(&mut bottom);
    gpu.write(address, &[3; BYTES]);
    within(LAYER, || {
        assert!(bottom.host_bytes(BYTES) == [3; BYTES]);
        unsafe { top.mutable_cpu_data().unwrap().write_bytes(4, BYTES) };
    });
    let address = within(LAYER, || top.gpu_data().unwrap()).addr();
    assert!(gpu.read(address, BYTES) == [4; BYTES]);
    discard(&mut bottom);
    discard(&mut top);
    assert_eq!((bottom.owns_cpu(), bottom.owns_gpu(), top.owns_gpu()), (false, false, false));
}

#[test(alone_with_driver, ("SYNCEDMEM_JUNK_FILL", "on"))]
fn what_is_lent_is_filled_as_asked() {
    let gpu = gpu();
    let (mut first, mut second) = (shared(BYTES), shared(BYTES));
    let address = lend(&mut first);
    assert!(gpu.read(address, BYTES) == [0xff; BYTES], "SYNCEDMEM_JUNK_FILL");
    discard(&mut first);
    let zeros = within(LAYER_WITH_ZEROS, || second.mutable_gpu_data().unwrap()).addr();
    assert!(zeros == address && gpu.read(zeros, BYTES) == [0; BYTES]);
}

#[test(alone_with_driver)]
fn an_object_that_is_pushed_on_a_stream_leaves_the_arena() {
    let gpu = gpu();
    let (mut pushed, mut other) = (shared(BYTES), shared(BYTES));
    within(LAYER, || unsafe { pushed.mutable_cpu_data().unwrap().write_bytes(4, BYTES) });
    let stream = gpu.stream();
    assert_eq!(pushed.push(stream.handle().cast()), SYNCEDMEM_SUCCESS);
    let mut next = shared(BYTES);
    let address = lend(&mut next);
    discard(&mut pushed);
    assert_ne!(lend(&mut other), address);
    stream.synchronize();
    assert!(gpu.read(pushed.gpu_data().unwrap().addr(), BYTES) == [4; BYTES]);
}

#[test(alone_with_driver)]
fn without_memory_for_an_arena_nothing_is_shared() {
    let gpu = simulated_gpu();
    gpu.set_memory(2 << 20);
    let mut objects: Vec<_> = (0..4).map(|_| planned(BYTES, 0, 100 << 20)).collect();
    let blocks: Vec<_> = objects.iter_mut().map(lend).collect();
    objects.iter_mut().for_each(discard);
    assert!(objects.iter_mut().zip(blocks).all(|(object, block)| object.gpu_data().unwrap().addr() == block));
    let mut smaller = planned(BYTES, 0, ROOM);
    let block = lend(&mut smaller);
    discard(&mut smaller);
    assert_refused(smaller.gpu_data().unwrap_err(), SYNCEDMEM_ERROR_INVALID_STATE, GONE.to_str().unwrap());
    assert_eq!(lend(&mut smaller), block, "a smaller plan fits");
}

#[test(alone_with_driver)]
fn a_block_that_a_reset_of_the_device_ended_is_not_lent_again() {
    let gpu = simulated_gpu();
    let (mut before, mut after) = (shared(BYTES), shared(BYTES));
    lend(&mut before);
    assert_eq!(gpu.cuDevicePrimaryCtxReset_v2(0), 0);
    let address = lend(&mut after);
    drop(before);
    let mut next = shared(BYTES);
    assert_ne!(lend(&mut next), address);
}

#[test(alone_with_driver)]
fn an_object_that_ends_gives_its_block_back_on_any_thread() {
    let _gpu = gpu();
    let mut object = shared(BYTES);
    let mut next = shared(BYTES);
    let address = lend(&mut object);
    std::thread::scope(|scope| scope.spawn(move || drop(object)).join().unwrap());
    assert_eq!(lend(&mut next), address);
}

#[test(alone_with_driver)]
fn without_a_known_device_no_arena_is_trimmed() {
    let gpu = simulated_gpu().with_devices(2);
    let mut objects = [0, 1].map(|device| {
        assert_eq!(gpu.cuCtxSetCurrent(gpu.primary(device)), 0);
        let mut object = shared(BYTES);
        lend(&mut object);
        discard(&mut object);
        object
    });
    // The first attempt's context cannot be left, so the trim before the second does not know which device is the thread's.
    assert_eq!(gpu.cuCtxSetCurrent(std::ptr::null_mut()), 0);
    gpu.fail_times("cuMemAlloc_v2", 1, 2, 2);
    gpu.fail("cuCtxPopCurrent_v2", 1, 4242);
    gpu.fail("cuCtxSetCurrent", 1, 4243);
    let mut object = Object::new(BYTES);
    assert_eq!(object.gpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY), "{}", last_error());
    assert_eq!(object.gpu_data(), Err(SYNCEDMEM_ERROR_DRIVER), "{}", last_error());
    for (device, object) in objects.iter_mut().enumerate() {
        assert_eq!(gpu.cuCtxSetCurrent(gpu.primary(device as i32)), 0);
        let (_, calls) = gpu.watch(|| lend(object));
        assert!(!names(&calls).contains(&"cuMemAlloc_v2"), "device {device}: {calls:?}");
    }
    assert_eq!(gpu.cuCtxSetCurrent(std::ptr::null_mut()), 0);
}
