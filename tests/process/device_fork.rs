//! Children of a process that has used the device have the host data, are refused the device, and call no driver, also when they
//! end objects. The simulated driver aborts a child that calls it.

use std::sync::Mutex;

use crate::support::driver::loaded;
use crate::support::states::*;
use crate::support::*;

const BYTES: usize = 5000;

fn is_refused(object: &mut Object) {
    assert_refused(object.gpu_data(), SYNCEDMEM_ERROR_NO_GPU, "forked");
}

#[test(alone_with_driver)]
fn a_child_ends_objects_in_every_state_at_once_and_by_its_exit_handlers() {
    static AT_EXIT: Mutex<Vec<Object>> = Mutex::new(Vec::new());
    extern "C" fn end_them() {
        AT_EXIT.lock().unwrap().clear();
    }
    assert_eq!(unsafe { libc::atexit(end_them) }, 0);
    // A forked child must not run a real driver's exit handlers.
    let (gpu, _pinning) = (simulated_gpu(), Pinning::always());
    let stream = gpu.stream();
    let mut lent = [7; BYTES];
    let mut borrower = Object::borrowing(&mut lent);
    borrower.gpu_data().unwrap();
    let mut objects: Vec<_> =
        STATES.map(|state| state.object(&gpu, &stream, BYTES)).into_iter().chain([borrower]).collect();
    AT_EXIT.lock().unwrap().extend(STATES.map(|state| state.object(&gpu, &stream, BYTES)));
    in_a_child(|| {
        objects.clear();
        unsafe { libc::exit(0) };
    });
    for (object, state) in objects.iter_mut().zip(STATES) {
        assert_bytes(&object.host_bytes(BYTES), &state.contents(BYTES), &state);
    }
    end_them();
}

#[test(alone_with_driver)]
fn the_child_of_a_child_has_the_host_data_and_no_device_either() {
    let gpu = gpu();
    let mut object = State::AtCpuOverDevice.object(&gpu, &gpu.stream(), BYTES);
    in_a_child(|| {
        in_a_child(|| {
            is_refused(&mut object);
            assert_bytes(&object.host_bytes(BYTES), &pattern(7, BYTES), &"");
        });
        is_refused(&mut object);
    });
    assert!(object.gpu_data().is_ok());
}

#[test(alone_with_driver)]
fn children_may_use_the_device_that_their_parent_has_not_used_and_so_may_it_afterwards() {
    loaded();
    let mut object = Object::holding(&pattern(1, BYTES));
    let mut uses = || {
        let gpu = gpu();
        let data = object.gpu_data().unwrap().addr();
        assert_bytes(&gpu.read(data, BYTES), &pattern(1, BYTES), &"");
        assert_eq!(object.release_gpu(), SYNCEDMEM_SUCCESS);
    };
    in_a_child(&mut uses);
    in_a_child(&mut uses);
    uses();
}

#[test(alone, ("SYNCEDMEM_TEST_DRIVER", "none"))]
fn without_a_driver_a_child_is_a_process_like_any_other() {
    driver::hide_devices();
    let mut object = Object::holding(&pattern(1, BYTES));
    assert_eq!(object.gpu_data(), Err(SYNCEDMEM_ERROR_NO_GPU));
    in_a_child(|| {
        assert_eq!((object.gpu_data(), last_error().contains("fork")), (Err(SYNCEDMEM_ERROR_NO_GPU), false));
        assert_bytes(&object.host_bytes(BYTES), &pattern(1, BYTES), &"");
    });
}
