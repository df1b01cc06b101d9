//! A host without room: sides of objects that the device holds, or can hold, are given back if their users allow it.

use std::sync::Barrier;

use crate::evicting::*;
use crate::support::pools::MIB;
use crate::support::states::*;
use crate::support::*;

const LIMIT: (&str, &str) = ("SYNCEDMEM_HOST_LIMIT", "4M");
const ONE_DEVICE: (&str, &str) = ("SIMCUDA_DEVICES", "1");

fn idle(gpu: &Gpu, state: State, how: syncedmem_eviction_t) -> Object {
    evictable(gpu, state, MIB, how)
}

/// As many as there is room for on the host.
fn four(gpu: &Gpu, state: State, how: syncedmem_eviction_t) -> [Object; 4] {
    [(); 4].map(|()| idle(gpu, state, how))
}

/// With several devices, an object that none has held yet has none to go to.
fn one_gpu() -> Gpu {
    let gpu = gpu();
    if gpu.devices() > 1 {
        skip("it needs a machine with one device");
    }
    gpu
}

fn under_a_limit_host_copies_are_evicted_in_the_order_of_their_last_use() {
    let gpu = gpu();
    for pins in [false, true] {
        let _pinning = pins.then(Pinning::always);
        let mut objects = four(&gpu, State::Synced, SYNCEDMEM_EVICT_REDUNDANT);
        objects[0].cpu_data().unwrap();
        objects[0].end_access();
        let mut other = Object::new(MIB);
        assert!(all_zero(other.cpu_data().unwrap(), MIB));
        assert_eq!(heads(&objects), [BOTH, DEVICE, BOTH, BOTH]);
        assert_eq!(objects[1].host_address(), 0);
        // To be read again it needs room, too.
        let contents = objects[1].host_bytes(MIB);
        assert_bytes(&contents, &State::Synced.contents(MIB), &"");
        assert_eq!(heads(&objects), [BOTH, BOTH, DEVICE, BOTH]);
    }
}

fn the_newest_data_of_a_host_goes_to_the_device_last_and_only_where_that_is_allowed() {
    let gpu = one_gpu();
    let cases = [
        (State::AtCpu, SYNCEDMEM_EVICT_ALWAYS),
        (State::AtCpuOverDevice, SYNCEDMEM_EVICT_ALWAYS),
        // Stale on the host, so nothing is lost.
        (State::AtGpuOverHost, SYNCEDMEM_EVICT_REDUNDANT),
        (State::AtCpu, SYNCEDMEM_EVICT_REDUNDANT),
    ];
    let mut objects: Vec<_> = cases.iter().map(|&(state, how)| idle(&gpu, state, how)).collect();
    let mut others = [0; 4].map(|_| Object::new(MIB));
    for (other, evicted) in others.iter_mut().zip([2, 0, 1]) {
        assert!(other.cpu_data().is_ok(), "{}", last_error());
        assert_eq!((objects[evicted].head(), objects[evicted].host_address()), (DEVICE, 0), "{evicted}");
    }
    assert_eq!(others[3].cpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
    let error = last_error();
    assert!(error.contains("SYNCEDMEM_HOST_LIMIT") && error.contains("no evictable object was left"), "{error}");
    assert_eq!(objects[3].head(), HOST);
    drop(others);
    for (object, (state, _)) in objects.iter_mut().zip(cases) {
        assert_bytes(&object.host_bytes(MIB), &state.contents(MIB), &state);
    }
}

fn the_newest_data_goes_to_no_device_that_its_user_has_not_chosen() {
    let gpu = gpu().with_devices(2);
    assert!(Object::new(100).gpu_data().is_ok(), "{}", last_error());
    let objects = four(&gpu, State::AtCpu, SYNCEDMEM_EVICT_ALWAYS);
    let mut other = Object::new(MIB);
    assert_eq!(other.cpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
    assert_eq!(heads(&objects), [HOST; 4]);
}

fn a_host_copy_that_was_page_locked_where_it_is_may_be_evicted_too() {
    let gpu = gpu();
    let mut objects = four(&gpu, State::Synced, SYNCEDMEM_EVICT_REDUNDANT);
    for object in &mut objects {
        assert_eq!(unsafe { syncedmem_pin(object.mem()) }, SYNCEDMEM_SUCCESS, "{}", last_error());
    }
    let mut other = Object::new(MIB);
    assert!(other.cpu_data().is_ok(), "{}", last_error());
    assert_eq!(heads(&objects), [DEVICE, BOTH, BOTH, BOTH]);
    assert_eq!(gpu.is_simulated().then(|| gpu.account().registered_blocks), gpu.if_simulated(3));
    drop(other);
    assert_bytes(&objects[0].host_bytes(MIB), &State::Synced.contents(MIB), &"");
}

fn nothing_is_evicted_for_what_exceeds_the_limit_alone() {
    let gpu = gpu();
    let objects = four(&gpu, State::Synced, SYNCEDMEM_EVICT_ALWAYS);
    assert_eq!(Object::new(4 * MIB + 1).cpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
    assert_eq!(heads(&objects), [BOTH; 4]);
}

fn an_eviction_that_finds_no_room_for_itself_evicts_no_further() {
    let gpu = small_gpu(8 * MIB);
    let full = Object::touched(Storage::cpu_data, 4 * MIB);
    let mut objects: Vec<_> = (0..8).map(|_| idle(&gpu, State::AtGpu, SYNCEDMEM_EVICT_ALWAYS)).collect();
    assert_refused(Object::new(MIB).overwrite_gpu_data(), SYNCEDMEM_ERROR_OUT_OF_MEMORY, "device allocation");
    assert_eq!(heads(&objects), [DEVICE; 8]);
    drop(full);
    assert!(Object::new(MIB).overwrite_gpu_data().is_ok());
    assert_eq!(objects[0].head(), HOST);
    assert_bytes(&objects[0].host_bytes(MIB), &State::AtGpu.contents(MIB), &"");
}

fn two_threads_that_need_each_others_room_do_not_wait_for_each_other() {
    const TURNS: usize = 1000;
    in_a_process_with_a_driver(&[("SYNCEDMEM_HOST_LIMIT", "1M"), ONE_DEVICE], || {
        let gpu = small_gpu(MIB);
        // The one has all of the host and needs the device, the other has all of the device and needs the host.
        let mut at_cpu = idle(&gpu, State::AtCpu, SYNCEDMEM_EVICT_ALWAYS);
        let mut at_gpu = idle(&gpu, State::AtGpu, SYNCEDMEM_EVICT_ALWAYS);
        let turn = Barrier::new(2);
        let try_all = |attempt: &mut dyn FnMut() -> Outcome| {
            for _ in 0..TURNS {
                turn.wait();
                assert_eq!(attempt(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
            }
        };
        std::thread::scope(|threads| {
            threads.spawn(|| try_all(&mut || at_cpu.gpu_data()));
            threads.spawn(|| try_all(&mut || at_gpu.cpu_data()));
        });
        assert_eq!((at_cpu.head(), at_gpu.head()), (HOST, DEVICE));
        assert_bytes(&at_cpu.host_bytes(MIB), &State::AtCpu.contents(MIB), &"");
        drop(at_cpu);
        assert_bytes(&at_gpu.host_bytes(MIB), &State::AtGpu.contents(MIB), &"");
    });
}

fn what_a_reset_of_the_device_has_taken_cannot_replace_the_host() {
    let gpu = gpu();
    let mut objects = four(&gpu, State::Synced, SYNCEDMEM_EVICT_REDUNDANT);
    assert_eq!(gpu.cuDevicePrimaryCtxReset_v2(0), 0);
    // The context is brought back, and what was in it is not.
    assert!(Object::new(100).gpu_data().is_ok(), "{}", last_error());
    assert_eq!(Object::new(MIB).cpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
    for object in &mut objects {
        assert_bytes(&object.host_bytes(MIB), &State::Synced.contents(MIB), &"");
    }
}

fn a_forked_child_evicts_nothing_since_it_could_not_bring_it_back() {
    let gpu = gpu();
    let mut objects = four(&gpu, State::Synced, SYNCEDMEM_EVICT_ALWAYS);
    in_a_child(|| {
        assert_eq!(Object::new(MIB).cpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
        assert!(objects.iter_mut().all(|object| object.host_bytes(MIB) == State::Synced.contents(MIB)));
    });
    assert_eq!(heads(&objects), [BOTH; 4]);
}

fn where_the_system_has_no_room_host_copies_make_some() {
    const LARGE: usize = 256 * MIB;
    let _gpu = simulated_gpu();
    let mut object = Object::new(LARGE);
    unsafe { object.mutable_cpu_data().unwrap().add(LARGE - 1).write(42) };
    object.gpu_data().unwrap();
    assert_eq!(object.set_evictable(SYNCEDMEM_EVICT_REDUNDANT), SYNCEDMEM_SUCCESS);
    let mapped: libc::rlim_t =
        std::fs::read_to_string("/proc/self/statm").unwrap().split(' ').next().unwrap().parse().unwrap();
    let most = mapped * 4096 + LARGE as libc::rlim_t / 2;
    let limit = libc::rlimit { rlim_cur: most, rlim_max: libc::RLIM_INFINITY };
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
    let mut other = Object::new(LARGE);
    assert!(other.cpu_data().is_ok(), "{}", last_error());
    assert_eq!((object.head(), object.host_address()), (DEVICE, 0));
    drop(other);
    assert_eq!(unsafe { object.cpu_data().unwrap().add(LARGE - 1).read() }, 42);
}

crate::support::harness::tests![
    two_threads_that_need_each_others_room_do_not_wait_for_each_other;
    alone_with_driver(&[LIMIT]):
    nothing_is_evicted_for_what_exceeds_the_limit_alone,
    an_eviction_that_finds_no_room_for_itself_evicts_no_further,
    what_a_reset_of_the_device_has_taken_cannot_replace_the_host,
    a_forked_child_evicts_nothing_since_it_could_not_bring_it_back;
    in_silence(&[LIMIT]):
    under_a_limit_host_copies_are_evicted_in_the_order_of_their_last_use,
    a_host_copy_that_was_page_locked_where_it_is_may_be_evicted_too;
    alone_with_driver(&[LIMIT, ONE_DEVICE]): the_newest_data_of_a_host_goes_to_the_device_last_and_only_where_that_is_allowed;
    alone_with_driver(&[LIMIT, ("SIMCUDA_DEVICES", "2")]): the_newest_data_goes_to_no_device_that_its_user_has_not_chosen;
    alone_with_driver(&[("SIMCUDA_MEMORY", "1G")]): where_the_system_has_no_room_host_copies_make_some
];
