//! Large blocks that keep crossing are page-locked where they are: not freed while they are, and nobody waits for it.
#![expect(
    clippy::undocumented_unsafe_blocks,
    clippy::multiple_unsafe_ops_per_block,
    clippy::unwrap_used,
    reason = "a test plays the foreign caller, and answers for what it passes"
)]

mod support;

use support::crossing::*;
use support::gpu::*;
use support::object::*;
use support::*;
use syncedmem::ffi::c::pools::*;

/// A block that is registered, and one that is as large and not.
const LARGE: usize = (4 << 20) + 12;
const BYTES: usize = 5000;
const OUT_OF_MEMORY: i32 = 2;
/// Without pools nothing is registered unasked.
const POOLS: (&str, &str) = ("SYNCEDMEM_TEST_POOLS", "on");
/// Copies as they are, so that what is counted is the driver's.
const UNSTAGED: (&str, &str) = ("SYNCEDMEM_STAGE_FROM", "0");

/// Whether this process has started one in which the simulated driver was there.
fn is_watched() -> bool {
    !inside() && driver::loaded().is_some_and(|loaded| loaded.control.is_some())
}

/// One that its copies have registered: the third, or a later one where another block was just being registered.
fn registered_by_crossing(gpu: &Gpu) -> Object {
    let before = registered(gpu);
    let mut object = filled(LARGE);
    cross_until_registered(&mut object);
    assert_eq!(registered(gpu), before + 1);
    object
}

fn cross_until_registered(object: &mut Object) {
    cross(object, 3);
    until("it is registered", || {
        cross(object, 1);
        object.is_pinned()
    });
}

fn idle() -> usize {
    let mut bytes = 0;
    assert_eq!(unsafe { syncedmem_idle_bytes(0, &mut bytes) }, SYNCEDMEM_SUCCESS);
    bytes
}

#[test]
fn a_large_block_that_keeps_crossing_is_registered_where_it_is() {
    in_a_process_with_a_driver("a_large_block_that_keeps_crossing_is_registered_where_it_is", &[POOLS], || {
        let Some(gpu) = simulated_gpu() else { return };
        let mut object = filled(LARGE);
        let (address, flags) = (object.host_address(), object.flags());
        cross(&mut object, 2);
        assert_eq!((gpu.calls_of(c"cuMemHostRegister_v2"), object.is_pinned()), (0, false));
        cross(&mut object, 1);
        until("it is registered", || object.is_pinned());
        let log = gpu.log();
        let call = log.iter().find(|call| call.function == "cuMemHostRegister_v2").unwrap();
        assert_eq!(call.field("bytes"), Some(&*LARGE.to_string()));
        assert_eq!(object.host_address(), address);
        // What it came from, which decides how it is freed, is what it was.
        assert_eq!((object.flags()[1], object.owns_cpu()), (flags[1], true));
        object.fill_host(&pattern(2, LARGE));
        let (device, calls) = gpu.watch(|| object.mutable_gpu_data().unwrap().addr());
        assert!(names(&calls).contains(&"cuMemcpy"), "{calls:?}");
        assert_bytes(&gpu.read(device, LARGE), &pattern(2, LARGE), &"to the device");
        gpu.write(device, &pattern(3, LARGE));
        assert_bytes(&object.host_bytes(LARGE), &pattern(3, LARGE), &"to the host");
        drop(object);
        assert_eq!((registered(&gpu), gpu.calls_of(c"cuMemHostUnregister")), (0, 1));
    });
}

#[test]
fn pulls_and_pushes_and_copies_both_ways_count() {
    in_a_process_with_a_driver("pulls_and_pushes_and_copies_both_ways_count", &[POOLS, UNSTAGED], || {
        let Some(gpu) = simulated_gpu() else { return };
        let mut object = filled(LARGE);
        assert_eq!(object.push(std::ptr::null_mut()), SYNCEDMEM_SUCCESS);
        object.mutable_gpu_data().unwrap();
        assert_eq!(object.pull(std::ptr::null_mut()), SYNCEDMEM_SUCCESS);
        object.cpu_data().unwrap();
        assert_eq!(gpu.calls_of(c"cuMemHostRegister_v2"), 0);
        object.mutable_gpu_data().unwrap();
        object.cpu_data().unwrap();
        until("it is registered", || object.is_pinned());
        assert_bytes(&object.host_bytes(LARGE), &pattern(1, LARGE), &"");
    });
}

#[test]
fn what_is_small_lent_or_page_locked_is_never_registered_unasked() {
    let name = "what_is_small_lent_or_page_locked_is_never_registered_unasked";
    in_a_process_with_a_driver(name, &[POOLS, UNSTAGED, ("SYNCEDMEM_REGISTER_FROM", "1")], || {
        let Some(gpu) = simulated_gpu() else { return };
        let mut lent = vec![0u8; LARGE];
        let (mut small, mut borrower) = (filled((2 << 20) - 1), Object::new(LARGE));
        assert_eq!(borrower.set_cpu_data(lent.as_mut_ptr()), SYNCEDMEM_SUCCESS);
        let mut pinned = {
            let _pinning = Pinning::always();
            filled(LARGE)
        };
        gpu.control().simcuda_clear_log();
        for object in [&mut small, &mut borrower, &mut pinned] {
            cross(object, 5);
        }
        // One that is comes after them on the same thread.
        let mut large = filled(2 << 20);
        cross(&mut large, 3);
        until("the large one is registered", || large.is_pinned());
        assert_eq!(gpu.calls_of(c"cuMemHostRegister_v2"), 1);
    });
}

#[test]
fn nothing_is_registered_unasked_where_the_environment_says_so() {
    let name = "nothing_is_registered_unasked_where_the_environment_says_so";
    // What others may have to free with free() is left alone, too.
    for environment in [("SYNCEDMEM_REGISTER_FROM", "0"), ("SYNCEDMEM_HOST_BLOCKS", "malloc")] {
        in_a_process_with_a_driver(name, &[POOLS, UNSTAGED, environment], || {
            let Some(gpu) = simulated_gpu() else { return };
            let mut object = filled(LARGE);
            cross(&mut object, 5);
            // Had it been due, the thread would be at it, or done.
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert_eq!((gpu.calls_of(c"cuMemHostRegister_v2"), registered(&gpu)), (0, 0));
            // To ask for it is something else.
            assert_eq!(object.pin(), SYNCEDMEM_SUCCESS);
            assert!(object.is_pinned());
        });
        if inside() {
            return;
        }
    }
}

#[test]
fn a_block_that_the_limit_or_the_driver_refuses_is_not_tried_again() {
    let name = "a_block_that_the_limit_or_the_driver_refuses_is_not_tried_again";
    let errors = in_a_process_with_a_driver(name, &[POOLS, UNSTAGED], || {
        let Some(gpu) = simulated_gpu() else { return };
        let mut object = filled(LARGE);
        assert_eq!(syncedmem_set_pinned_limit(1 << 20), SYNCEDMEM_SUCCESS);
        cross(&mut object, 5);
        assert_eq!(syncedmem_set_pinned_limit(1 << 30), SYNCEDMEM_SUCCESS);
        cross(&mut object, 5);
        assert_eq!((gpu.calls_of(c"cuMemHostRegister_v2"), object.is_pinned()), (0, false));
        for _ in 0..2 {
            let mut object = filled(LARGE);
            gpu.control().simcuda_clear_log();
            gpu.fail("cuMemHostRegister_v2", 1, OUT_OF_MEMORY);
            cross(&mut object, 3);
            until("it was tried", || gpu.calls_of(c"cuMemHostRegister_v2") == 1);
            cross(&mut object, 5);
            assert_eq!((gpu.calls_of(c"cuMemHostRegister_v2"), object.is_pinned()), (1, false));
            assert_bytes(&object.host_bytes(LARGE), &pattern(1, LARGE), &"");
            gpu.control().simcuda_clear_faults();
        }
        // What was refused is not counted: all of the limit is there for another.
        assert_eq!(syncedmem_set_pinned_limit(LARGE), SYNCEDMEM_SUCCESS);
        drop(registered_by_crossing(&gpu));
        drop(registered_by_crossing(&gpu));
    });
    let lines: Vec<_> = errors.lines().collect();
    assert!(
        !is_watched() || lines.len() == 1 && lines[0].contains("could not be page-locked: cuMemHostRegister_v2"),
        "{errors}"
    );
}

#[test]
fn nobody_waits_for_a_registration_and_a_block_that_is_freed_meanwhile_is_freed_after_it() {
    let name = "nobody_waits_for_a_registration_and_a_block_that_is_freed_meanwhile_is_freed_after_it";
    in_a_process_with_a_driver(name, &[POOLS, UNSTAGED], || {
        let Some(gpu) = simulated_gpu() else { return };
        assert_eq!(syncedmem_set_pools(true), SYNCEDMEM_SUCCESS);
        let control = gpu.control();
        control.simcuda_hold_registrations();
        let mut object = filled(LARGE);
        cross(&mut object, 3);
        until("it is being registered", || control.simcuda_waiting_registrations() == 1);
        assert!(!object.is_pinned());
        object.fill_host(&pattern(2, LARGE));
        cross(&mut object, 2);
        assert_bytes(&object.host_bytes(LARGE), &pattern(2, LARGE), &"");
        drop(object);
        assert!(idle() < LARGE, "it was given back while it was being registered");
        control.simcuda_release_registrations();
        until("it is given back", || idle() >= LARGE);
        assert_eq!((registered(&gpu), gpu.calls_of(c"cuMemHostUnregister")), (0, 1));
        // The same memory, which nobody takes for page-locked.
        let mut next = filled(LARGE);
        assert!(!next.is_pinned());
        cross(&mut next, 2);
        assert!(!next.is_pinned());
    });
}

#[test]
fn a_block_whose_registration_does_not_end_is_not_handed_on() {
    let name = "a_block_whose_registration_does_not_end_is_not_handed_on";
    let errors = in_a_process_with_a_driver(name, &[POOLS, UNSTAGED], || {
        let Some(gpu) = simulated_gpu() else { return };
        assert_eq!(syncedmem_set_pools(true), SYNCEDMEM_SUCCESS);
        let (object, other) = (registered_by_crossing(&gpu), registered_by_crossing(&gpu));
        gpu.fail("cuMemHostUnregister", 1, 999);
        drop(object);
        assert_eq!((registered(&gpu), idle() >= LARGE), (2, false));
        drop(other);
        assert_eq!(registered(&gpu), 0, "it was not offered again");
        assert!(idle() >= 2 * LARGE);
    });
    assert!(
        !is_watched()
            || errors.lines().count() == 1 && errors.contains("could not be unregistered: cuMemHostUnregister"),
        "{errors}"
    );
}

#[test]
fn a_reset_of_the_device_ends_registrations() {
    let errors = in_a_process_with_a_driver("a_reset_of_the_device_ends_registrations", &[POOLS, UNSTAGED], || {
        let Some(gpu) = simulated_gpu() else { return };
        let mut lent = pattern(1, LARGE);
        let (mut object, mut borrower) = (registered_by_crossing(&gpu), Object::new(LARGE));
        assert_eq!(borrower.set_cpu_data(lent.as_mut_ptr()), SYNCEDMEM_SUCCESS);
        assert_eq!(borrower.pin(), SYNCEDMEM_SUCCESS, "{}", last_error());
        assert_eq!(gpu.cuDevicePrimaryCtxReset_v2(0), 0);
        assert_eq!(registered(&gpu), 0);
        object.mutable_cpu_data().unwrap();
        assert_eq!(object.release_gpu(), SYNCEDMEM_SUCCESS, "{}", last_error());
        cross(&mut object, 1);
        assert!(!object.is_pinned());
        assert_eq!(borrower.pin(), SYNCEDMEM_SUCCESS, "{}", last_error());
        assert_eq!(registered(&gpu), 1);
        drop(borrower);
        assert_eq!(registered(&gpu), 0);
        cross_until_registered(&mut object);
        assert_eq!(gpu.cuDevicePrimaryCtxReset_v2(0), 0);
        let ((), calls) = gpu.watch(|| drop(object));
        assert!(!names(&calls).contains(&"cuMemHostUnregister"), "{calls:?}");
    });
    assert_eq!(errors, "");
}

#[test]
fn a_child_leaves_its_parents_registrations_alone() {
    in_a_process_with_a_driver("a_child_leaves_its_parents_registrations_alone", &[POOLS, UNSTAGED], || {
        let Some(gpu) = simulated_gpu() else { return };
        let mut object = registered_by_crossing(&gpu);
        let (mut lent, mut borrower) = (pattern(1, BYTES), Object::new(BYTES));
        assert_eq!(borrower.set_cpu_data(lent.as_mut_ptr()), SYNCEDMEM_SUCCESS);
        assert_eq!(borrower.pin(), SYNCEDMEM_SUCCESS);
        let child = unsafe { libc::fork() };
        if child == 0 {
            let reads = object.host_bytes(LARGE) == pattern(1, LARGE);
            let refused = [borrower.pin(), borrower.unpin()] == [SYNCEDMEM_ERROR_NO_GPU; 2];
            drop((object, borrower));
            unsafe { libc::_exit(if reads && refused { 7 } else { 1 }) };
        }
        let mut status = 0;
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7, "{status:#x}");
        assert_eq!(registered(&gpu), 2);
        cross(&mut object, 1);
    });
}

#[test]
fn the_exit_of_the_process_waits_for_a_registration_and_ends_none() {
    let name = "the_exit_of_the_process_waits_for_a_registration_and_ends_none";
    // The simulated driver ends a process that calls it after its own exit handler. This one is called after that.
    extern "C" fn give_time() {
        std::thread::sleep(std::time::Duration::from_millis(300));
    }
    let errors = in_a_process_with_a_driver(name, &[POOLS, UNSTAGED], || {
        assert_eq!(unsafe { libc::atexit(give_time) }, 0);
        let Some(gpu) = simulated_gpu() else { return };
        std::mem::forget(registered_by_crossing(&gpu));
        let mut object = filled(LARGE);
        let control = gpu.control();
        control.simcuda_hold_registrations();
        cross(&mut object, 3);
        until("it is being registered", || control.simcuda_waiting_registrations() == 1);
        std::mem::forget(object);
        std::mem::forget(gpu);
        std::thread::spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(100));
            control.simcuda_release_registrations();
        });
    });
    assert_eq!(errors, "");
}

#[test]
fn blocks_that_are_freed_at_any_time_after_their_third_copy_leave_nothing_registered() {
    let name = "blocks_that_are_freed_at_any_time_after_their_third_copy_leave_nothing_registered";
    in_a_process_with_a_driver(name, &[POOLS, UNSTAGED], || {
        let Some(gpu) = simulated_gpu() else { return };
        for round in 0..100 {
            let mut object = filled(4 << 20);
            cross(&mut object, 3);
            (0..round * 30).for_each(|_| std::hint::spin_loop());
            drop(object);
        }
        until("nothing is registered", || registered(&gpu) == 0);
        let mut object = registered_by_crossing(&gpu);
        assert_bytes(&object.host_bytes(LARGE), &pattern(1, LARGE), &"");
    });
}
