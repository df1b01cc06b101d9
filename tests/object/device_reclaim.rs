//! A device without room: idle blocks are given back, and then device sides that may be evicted and are not in use.

use crate::evicting::*;
use crate::support::captures::*;
use crate::support::driver::Address;
use crate::support::pools::MIB;
use crate::support::states::*;
use crate::support::*;

/// Blocks of 1 MiB that the device has room for.
const ROOM: usize = 8;

fn idle(gpu: &Gpu, state: State) -> Object {
    evictable(gpu, state, MIB)
}

/// Objects that are on both sides, as many as the device has room for, used in this order.
fn full(gpu: &Gpu) -> Vec<Object> {
    (0..ROOM).map(|_| idle(gpu, State::Synced)).collect()
}

fn assert_contents(object: &mut Object, state: State) {
    let contents = object.host_bytes(MIB);
    assert_bytes(&contents, &state.contents(MIB), &state);
    object.end_access();
}

fn device_copies_are_evicted_in_the_order_of_their_last_use_and_no_more_than_are_needed() {
    let gpu = small_gpu(ROOM * MIB);
    let mut objects = full(&gpu);
    // The first is used again.
    objects[0].gpu_data().unwrap();
    objects[0].end_access();
    let mut large = Object::holding(&pattern(3, 2 * MIB));
    let data = large.gpu_data().unwrap();
    assert_eq!(heads(&objects), [BOTH, HOST, HOST, BOTH, BOTH, BOTH, BOTH, BOTH]);
    assert_eq!((objects[1].device_address(), objects[1].owns_gpu()), (0, false));
    assert_bytes(&gpu.read(data.addr(), 2 * MIB), &pattern(3, 2 * MIB), &"");
    drop(large);
    // Evicted sides come back at their next access.
    for object in &mut objects {
        let data = object.gpu_data().unwrap();
        assert_bytes(&gpu.read(data.addr(), MIB), &State::Synced.contents(MIB), &"");
        object.end_access();
    }
    assert_eq!(heads(&objects), [BOTH; ROOM]);
}

fn what_is_not_marked_or_in_use_stays_and_the_failure_advises_to_mark() {
    let gpu = small_gpu(ROOM * MIB);
    let mut objects: Vec<_> = (0..ROOM).map(|_| unmarked(&gpu, State::Synced, MIB)).collect();
    let mut other = Object::new(MIB);
    assert_eq!(other.gpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
    assert!(last_error().contains("syncedmem_set_evictable"), "{}", last_error());
    for object in &mut objects {
        assert_eq!(object.set_evictable(SYNCEDMEM_EVICT_REDUNDANT), SYNCEDMEM_SUCCESS);
        // An access to either side keeps both.
        object.cpu_data().unwrap();
    }
    let addresses: Vec<_> = objects.iter().map(|object| object.device_address()).collect();
    assert_eq!(other.gpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
    assert!(!last_error().contains("syncedmem_set_evictable"), "{}", last_error());
    assert!(objects.iter().map(|object| object.device_address()).eq(addresses));
    assert_eq!(heads(&objects), [BOTH; ROOM]);
    objects[5].end_access();
    assert!(other.gpu_data().is_ok(), "{}", last_error());
    assert_eq!(heads(&objects), [BOTH, BOTH, BOTH, BOTH, BOTH, HOST, BOTH, BOTH]);
}

fn only_a_marked_side_goes_that_the_host_can_replace() {
    use State::*;
    let gpu = small_gpu(ROOM * MIB);
    // Of the first the device's data is stale, so nothing is lost.
    let mut objects: Vec<_> =
        [AtCpuOverDevice, AtGpu, AtGpuOverHost, Synced].into_iter().map(|state| (idle(&gpu, state), state)).collect();
    objects.extend([AtGpu, Synced].map(|state| (unmarked(&gpu, state, MIB), state)));
    let rest = gpu.block(2 * MIB);
    let mut takers = [(); 3].map(|()| Object::new(MIB));
    for (taker, evicted) in takers.iter_mut().zip([0, 3]) {
        assert!(taker.gpu_data().is_ok(), "{}", last_error());
        assert_eq!((objects[evicted].0.head(), objects[evicted].0.device_address()), (HOST, 0));
    }
    assert_eq!(takers[2].gpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
    drop((takers, rest));
    for (object, state) in &mut objects {
        assert_contents(object, *state);
    }
}

fn a_failure_after_evictions_is_the_one_that_it_began_with() {
    let gpu = small_gpu(ROOM * MIB);
    let states = [State::Synced, State::AtGpu, State::Synced, State::AtGpu];
    let mut objects = states.map(|state| idle(&gpu, state));
    let mut large = Object::new(ROOM * MIB);
    assert_eq!(large.gpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
    assert_has(&last_error(), &["has 4194304 bytes (4.0 MiB) free of 8388608 bytes (8.0 MiB)"]);
    assert_eq!(
        [0, 2].map(|evicted: usize| (objects[evicted].head(), objects[evicted].device_address())),
        [(HOST, 0); 2]
    );
    for (object, state) in objects.iter_mut().zip(states) {
        assert_contents(object, state);
    }
}

fn idle_blocks_go_before_anything_is_evicted() {
    let gpu = small_gpu(ROOM * MIB);
    assert_eq!(syncedmem_set_pool_budget(usize::MAX), SYNCEDMEM_SUCCESS);
    let objects: Vec<_> = (0..4).map(|_| idle(&gpu, State::Synced)).collect();
    drop([0; 3].map(|_| idle(&gpu, State::AtGpu)));
    let mut bytes = 0;
    let status = unsafe { syncedmem_idle_bytes(SYNCEDMEM_MEMORY_DEVICE as i32, &mut bytes) };
    assert_eq!((status, bytes), (SYNCEDMEM_SUCCESS, 3 * MIB));
    // Too large for any of them, and for what is free beside them.
    let mut other = Object::new(4 * MIB);
    assert!(other.gpu_data().is_ok(), "{}", last_error());
    assert_eq!(heads(&objects), [BOTH; 4]);
    // It is idle itself, then, and not enough.
    drop(other);
    let mut large = Object::new(6 * MIB);
    assert!(large.gpu_data().is_ok(), "{}", last_error());
    assert_eq!(heads(&objects), [HOST, HOST, BOTH, BOTH]);
    drop(large);
}

fn after_a_capture_nothing_is_evicted_and_the_failure_says_so() {
    let gpu = small_gpu(ROOM * MIB);
    let objects = full(&gpu);
    let mut other = Object::holding(&pattern(5, MIB));
    let capture = Capture::new(&gpu, NON_BLOCKING, RELAXED);
    let refused = gpu.within(0, || other.push(capture.stream));
    assert_eq!(refused, SYNCEDMEM_ERROR_INVALID_ARGUMENT, "{}", last_error());
    assert!(capture.end());
    assert_eq!(other.gpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
    assert_has(
        &last_error(),
        &["captured a CUDA graph", "no object that the device may be using is evicted", "call syncedmem_release_gpu"],
    );
    assert!(!last_error().contains("syncedmem_set_evictable"), "{}", last_error());
    assert_eq!(heads(&objects), [BOTH; ROOM]);
}

fn nothing_is_evicted_for_what_the_device_could_never_hold() {
    let gpu = small_gpu(ROOM * MIB);
    let objects = full(&gpu);
    assert_eq!(Object::new(ROOM * MIB + 1).gpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
    assert_eq!(heads(&objects), [BOTH; ROOM]);
    assert!(!last_error().contains("syncedmem_set_evictable"), "{}", last_error());
}

fn a_push_makes_room_too() {
    let gpu = small_gpu(ROOM * MIB);
    let objects = full(&gpu);
    let stream = gpu.stream();
    let mut other = Object::holding(&pattern(5, MIB));
    assert_eq!(other.push(stream.handle()), SYNCEDMEM_SUCCESS, "{}", last_error());
    stream.synchronize();
    assert_eq!(heads(&objects)[..2], [HOST, BOTH]);
    assert_bytes(&gpu.read(other.device_address(), MIB), &pattern(5, MIB), &"");
}

fn an_object_that_needs_room_is_not_evicted_for_itself() {
    let gpu = small_gpu(ROOM * MIB);
    let mut only = Object::new(6 * MIB);
    assert_eq!(only.set_evictable(SYNCEDMEM_EVICT_REDUNDANT), SYNCEDMEM_SUCCESS);
    only.gpu_data().unwrap();
    only.end_access();
    let other = gpu.block(2 * MIB);
    only.overwrite_cpu_data().unwrap();
    only.end_access();
    assert_eq!(only.release_gpu(), SYNCEDMEM_SUCCESS);
    let rest = gpu.block(2 * MIB);
    assert_eq!(only.gpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
    assert_eq!(only.head(), HOST);
    drop((other, rest));
    assert!(only.gpu_data().is_ok());
}

fn objects_of_another_device_make_no_room() {
    let gpu = small_gpu(ROOM * MIB).with_devices(2);
    let mut elsewhere = gpu.within(1, || idle(&gpu, State::Synced));
    assert_eq!(elsewhere.device_ordinal(), 1);
    let mut objects = full(&gpu);
    let mut other = Object::new(MIB);
    assert!(other.gpu_data().is_ok(), "{}", last_error());
    assert_eq!((elsewhere.head(), objects[0].head()), (BOTH, HOST));
    assert_eq!(objects[1].device_ordinal(), 0);
}

fn what_still_runs_on_an_evicted_block_is_waited_for() {
    let gpu = small_gpu(ROOM * MIB);
    let mut objects = full(&gpu);
    let (stream, to) = (gpu.stream(), gpu.pinned(MIB));
    // As a kernel would, on a stream that waits for nothing else, after the access was ended.
    gpu.set_lag(UNTIL_IT_IS_WAITED_FOR);
    let from = objects[0].gpu_data().unwrap().addr() as Address;
    gpu.within(0, || assert_eq!(gpu.cuMemcpyAsync(to.address as Address, from, MIB, stream.handle()), 0));
    objects[0].end_access();
    for object in &mut objects[1..] {
        // Used later than that.
        object.gpu_data().unwrap();
        object.end_access();
    }
    assert!(!stream.is_idle());
    let mut other = Object::new(MIB);
    assert!(other.overwrite_gpu_data().is_ok(), "{}", last_error());
    assert!(stream.is_idle(), "it did not wait");
    assert_eq!(objects[0].device_address(), 0);
    gpu.set_lag(0);
    let copied = unsafe { std::slice::from_raw_parts(to.pointer(), MIB) };
    assert_bytes(copied, &State::Synced.contents(MIB), &"");
    assert_contents(&mut objects[0], State::Synced);
}

fn a_copy_in_flight_keeps_its_object_until_it_is_done() {
    let gpu = small_gpu(ROOM * MIB);
    let (stream, _pinning) = (gpu.stream(), Pinning::always());
    for state in [State::Pushing, State::Pulling] {
        gpu.control().simcuda_hold_streams();
        let mut objects: Vec<_> = (0..ROOM).map(|_| state.object(&gpu, &stream, MIB)).collect();
        for object in &mut objects {
            assert_eq!(object.set_evictable(SYNCEDMEM_EVICT_REDUNDANT), SYNCEDMEM_SUCCESS);
        }
        let mut other = Object::new(MIB);
        // A call that waited here would hang.
        assert_eq!(other.overwrite_gpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY), "{state}");
        assert_eq!(heads(&objects), [state.head(); ROOM], "{state}");
        gpu.control().simcuda_release_streams();
        stream.synchronize();
        // These copies are done, and no call has asked for them yet.
        assert!(other.overwrite_gpu_data().is_ok(), "{state} {}", last_error());
        assert_eq!((objects[0].head(), objects[0].device_address()), (HOST, 0), "{state}");
        assert_contents(&mut objects[0], state);
        assert_contents(&mut objects[1], state);
    }
}

fn a_callers_memory_stays_page_locked_when_the_device_copy_of_it_is_evicted() {
    let gpu = small_gpu(ROOM * MIB);
    let mut own = pattern(2, MIB);
    let mut object = Object::borrowing(&mut own);
    assert_eq!(unsafe { syncedmem_pin(object.mem()) }, SYNCEDMEM_SUCCESS, "{}", last_error());
    assert_eq!(object.set_evictable(SYNCEDMEM_EVICT_REDUNDANT), SYNCEDMEM_SUCCESS);
    object.gpu_data().unwrap();
    object.end_access();
    let _rest = gpu.block((ROOM - 1) * MIB);
    let mut other = Object::new(MIB);
    assert!(other.overwrite_gpu_data().is_ok(), "{}", last_error());
    assert_eq!((object.head(), object.is_pinned(), gpu.account().registered_blocks), (HOST, true, 1));
}

fn borrowed_device_memory_is_never_given_back() {
    let gpu = small_gpu(ROOM * MIB);
    let lent = gpu.block(ROOM * MIB);
    let mut object = Object::new(MIB);
    assert_eq!(object.set_gpu_data(lent.pointer()), SYNCEDMEM_SUCCESS);
    object.cpu_data().unwrap();
    assert_eq!(object.set_evictable(SYNCEDMEM_EVICT_REDUNDANT), SYNCEDMEM_SUCCESS);
    assert_eq!(Object::new(MIB).gpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
    assert_eq!((object.head(), object.device_address()), (BOTH, lent.address));
}

fn what_a_reset_of_the_device_has_taken_makes_no_room() {
    let gpu = small_gpu(ROOM * MIB);
    let mut objects = full(&gpu);
    assert_eq!(gpu.cuDevicePrimaryCtxReset_v2(0), 0);
    // The context is brought back, and what was in it is not.
    let mut small = Object::new(100);
    assert!(small.gpu_data().is_ok(), "{}", last_error());
    let _rest = gpu.block((ROOM - 1) * MIB);
    assert_eq!(Object::new(MIB).gpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
    for object in &mut objects {
        assert_contents(object, State::Synced);
    }
}

crate::support::harness::tests![
    device_copies_are_evicted_in_the_order_of_their_last_use_and_no_more_than_are_needed,
    what_is_not_marked_or_in_use_stays_and_the_failure_advises_to_mark,
    only_a_marked_side_goes_that_the_host_can_replace,
    a_failure_after_evictions_is_the_one_that_it_began_with,
    nothing_is_evicted_for_what_the_device_could_never_hold,
    a_push_makes_room_too,
    an_object_that_needs_room_is_not_evicted_for_itself,
    objects_of_another_device_make_no_room,
    what_still_runs_on_an_evicted_block_is_waited_for,
    a_copy_in_flight_keeps_its_object_until_it_is_done,
    a_callers_memory_stays_page_locked_when_the_device_copy_of_it_is_evicted,
    borrowed_device_memory_is_never_given_back,
    what_a_reset_of_the_device_has_taken_makes_no_room;
    alone_with_driver(&[]): after_a_capture_nothing_is_evicted_and_the_failure_says_so;
    alone_with_driver(&[("SYNCEDMEM_POOL_BUDGET", "8M")]): idle_blocks_go_before_anything_is_evicted
];
