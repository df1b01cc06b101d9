//! Host memory that was pinned where it is: not freed while the driver has it, and let go by resets, forks and exits.

use crate::support::crossing::*;
use crate::support::pools::POOLS;
use crate::support::*;

/// A block of the library's own that is a mapping.
const LARGE: usize = (4 << 20) + 12;
const BYTES: usize = 5000;

/// An object with a block of its own that is pinned where it is.
fn pinned() -> Object {
    let mut object = filled(LARGE);
    assert_eq!(object.pin(), SYNCEDMEM_SUCCESS, "{}", last_error());
    object
}

fn objects_that_pin_one_buffer_at_once_register_it_once() {
    let gpu = simulated_gpu();
    let control = gpu.control();
    let mut lent = pattern(1, LARGE);
    let mut objects = [Object::borrowing(&mut lent), Object::borrowing(&mut lent)];
    control.simcuda_hold_registrations();
    std::thread::scope(|threads| {
        let handles = objects.each_mut().map(|object| threads.spawn(|| object.pin()));
        pools::until(|| control.simcuda_waiting_registrations() == 1);
        control.simcuda_release_registrations();
        assert_eq!(handles.map(|handle| handle.join().unwrap()), [SYNCEDMEM_SUCCESS; 2]);
    });
    assert_eq!((registered(&gpu), gpu.calls_of(c"cuMemHostRegister_v2")), (Some(1), 1));
    let [first, mut second] = objects;
    drop(first);
    assert_eq!((registered(&gpu), second.is_pinned()), (Some(1), true));
    drop(second);
    assert_eq!(registered(&gpu), Some(0));
}

fn a_block_that_is_pinned_by_its_owner_stays_so_while_a_borrower_copies_it() {
    let gpu = gpu();
    let stream = gpu.stream();
    let (mut owner, mut other) = (pinned(), Object::new(LARGE));
    assert_eq!(other.set_cpu_data(owner.cpu_data().unwrap()), SYNCEDMEM_SUCCESS);
    match gpu.is_simulated() {
        true => gpu.control().simcuda_hold_streams(),
        false => stream.delay(5000),
    }
    assert_eq!(other.push(stream.handle()), SYNCEDMEM_SUCCESS);
    assert_eq!(
        (owner.unpin(), registered(&gpu)),
        (SYNCEDMEM_SUCCESS, gpu.if_simulated(1)),
        "unregistered under a copy"
    );
    gpu.calm();
    assert_eq!(other.wait(), SYNCEDMEM_SUCCESS);
    assert_bytes(&gpu.read(other.device_address(), LARGE), &pattern(1, LARGE), &"");
    drop(other);
    assert_eq!((owner.is_pinned(), registered(&gpu)), (false, gpu.if_simulated(0)));
}

fn a_block_whose_registration_does_not_end_is_not_handed_on() {
    let errors = in_a_process_with_a_driver(&[POOLS], || {
        let gpu = simulated_gpu();
        let (object, other) = (pinned(), pinned());
        drop((object, other));
        gpu.fail("cuMemHostUnregister", 1, 999);
        assert_eq!(syncedmem_trim(1), SYNCEDMEM_SUCCESS);
        assert_eq!((registered(&gpu), pools::idle(pools::PAGEABLE) >= 2 * LARGE), (Some(1), false));
        assert_eq!(syncedmem_trim(1), SYNCEDMEM_SUCCESS);
        assert_eq!(registered(&gpu), Some(0), "it was not offered again");
        assert!(pools::idle(pools::PAGEABLE) >= 2 * LARGE);
    });
    assert!(
        inside() || errors.lines().count() == 1 && errors.contains("could not be unregistered: cuMemHostUnregister"),
        "{errors}"
    );
}

fn a_reset_of_the_device_ends_registrations() {
    let gpu = gpu();
    let mut lent = pattern(1, LARGE);
    let (mut object, mut borrower) = (pinned(), Object::borrowing(&mut lent));
    cross(&mut object, 1);
    assert_eq!(borrower.pin(), SYNCEDMEM_SUCCESS, "{}", last_error());
    assert_eq!(gpu.cuDevicePrimaryCtxReset_v2(0), 0);
    assert_eq!(registered(&gpu), gpu.if_simulated(0));
    object.mutable_cpu_data().unwrap();
    assert_eq!(object.release_gpu(), SYNCEDMEM_SUCCESS, "{}", last_error());
    cross(&mut object, 1);
    assert!(!object.is_pinned());
    assert_eq!(borrower.pin(), SYNCEDMEM_SUCCESS, "{}", last_error());
    assert_eq!(registered(&gpu), gpu.if_simulated(1));
    drop(borrower);
    assert_eq!(registered(&gpu), gpu.if_simulated(0));
    assert_eq!(object.pin(), SYNCEDMEM_SUCCESS, "{}", last_error());
    assert_eq!(gpu.cuDevicePrimaryCtxReset_v2(0), 0);
    gpu.observe(|| drop(object), |calls| assert!(!names(calls).contains(&"cuMemHostUnregister"), "{calls:?}"));
}

fn after_a_reset_objects_that_pin_one_buffer_at_once_register_it_once() {
    let gpu = simulated_gpu();
    let mut lent = pattern(1, BYTES);
    let mut objects = [(); 8].map(|()| Object::borrowing(&mut lent));
    for round in 0..200 {
        at_once(objects.len(), {
            let objects = objects.each_mut().map(std::sync::Mutex::new);
            move |at| assert_eq!(objects[at].lock().unwrap().pin(), SYNCEDMEM_SUCCESS, "{}", last_error())
        });
        assert!(objects.iter_mut().all(|object| object.is_pinned()), "{round}");
        assert_eq!(gpu.calls_of(c"cuMemHostRegister_v2"), round + 1);
        assert_eq!(gpu.cuDevicePrimaryCtxReset_v2(0), 0);
    }
}

fn a_block_that_was_pinned_in_part_leaves_the_limit_with_all_its_bytes() {
    let _gpu = gpu();
    let mut owner = filled(1 << 20);
    let mut borrower = Object::new(BYTES);
    assert_eq!(borrower.set_cpu_data(owner.cpu_data().unwrap()), SYNCEDMEM_SUCCESS);
    assert_eq!(borrower.pin(), SYNCEDMEM_SUCCESS, "{}", last_error());
    drop((owner, borrower));
    assert!(Object::new(LARGE + (1 << 19)).cpu_data().is_ok(), "{}", last_error());
}

fn a_child_leaves_its_parents_registrations_alone() {
    let gpu = gpu();
    let mut lent = pattern(1, BYTES);
    let mut objects = vec![pinned(), Object::borrowing(&mut lent)];
    assert_eq!(objects[1].pin(), SYNCEDMEM_SUCCESS);
    in_a_child(|| {
        assert_bytes(&objects[0].host_bytes(LARGE), &pattern(1, LARGE), &"in the child");
        assert_eq!([objects[1].pin(), objects[1].unpin()], [SYNCEDMEM_ERROR_NO_GPU; 2]);
        objects.clear();
    });
    assert_eq!(registered(&gpu), gpu.if_simulated(2));
    cross(&mut objects[0], 1);
}

fn the_exit_of_the_process_ends_no_registration() {
    // The simulated driver ends a process that calls it after its own exit handler.
    static KEPT: std::sync::Mutex<Vec<Object>> = std::sync::Mutex::new(Vec::new());
    extern "C" fn end_them() {
        KEPT.lock().unwrap().clear();
    }
    // Registered before the driver is used, it runs after the driver's handler.
    assert_eq!(unsafe { libc::atexit(end_them) }, 0);
    let gpu = gpu();
    KEPT.lock().unwrap().push(pinned());
    assert_eq!(registered(&gpu), gpu.if_simulated(1));
    std::mem::forget(gpu);
}

crate::support::harness::tests![
    a_block_whose_registration_does_not_end_is_not_handed_on;
    in_silence(&[POOLS]): a_reset_of_the_device_ends_registrations, the_exit_of_the_process_ends_no_registration;
    alone_with_driver(&[POOLS]):
    objects_that_pin_one_buffer_at_once_register_it_once,
    after_a_reset_objects_that_pin_one_buffer_at_once_register_it_once,
    a_block_that_is_pinned_by_its_owner_stays_so_while_a_borrower_copies_it,
    a_child_leaves_its_parents_registrations_alone;
    alone_with_driver(&[("SYNCEDMEM_HOST_LIMIT", "5M")]):
    a_block_that_was_pinned_in_part_leaves_the_limit_with_all_its_bytes
];
