//! Data on one device while another is current: handed out and counted as in the original's release builds, refused
//! where the check of its debug builds is asked for.

use crate::support::*;

const BYTES: usize = 1000;

fn mismatches() -> u64 {
    let mut count = 0;
    assert_eq!(unsafe { syncedmem_device_mismatches(&mut count) }, SYNCEDMEM_SUCCESS);
    count
}

#[test]
fn a_block_of_another_device_than_the_current_one_is_handed_out_and_counted_where_the_driver_is_called_anyway() {
    let gpu = gpu().with_devices(2);
    let mut object = Object::holding(&pattern(1, BYTES));
    gpu.within(1, || assert!(object.gpu_data().is_ok()));
    let before = mismatches();
    gpu.within(1, || {
        object.mutable_cpu_data().unwrap();
        object.gpu_data().unwrap();
    });
    assert_eq!(mismatches(), before);
    gpu.within(0, || {
        object.mutable_cpu_data().unwrap();
        // A copy: the driver is called anyway.
        assert!(object.gpu_data().is_ok());
        assert_eq!(mismatches(), before + 1);
        // Nothing to do: no check is made.
        assert!(object.gpu_data().is_ok());
        assert_eq!(mismatches(), before + 1);
    });
}

#[test]
fn with_the_device_check_on_every_call_looks_and_refuses_another_devices_block() {
    let gpu = gpu().with_devices(2);
    let mut object = Object::holding(&pattern(1, BYTES));
    gpu.within(1, || assert!(object.gpu_data().is_ok()));
    assert_eq!(syncedmem_set_device_check(true), SYNCEDMEM_SUCCESS);
    let mut on = false;
    assert_eq!((unsafe { syncedmem_get_device_check(&mut on) }, on), (SYNCEDMEM_SUCCESS, true));
    let before = mismatches();
    gpu.within(0, || {
        assert_eq!(object.gpu_data(), Err(SYNCEDMEM_ERROR_WRONG_DEVICE), "nothing to do, and looked at");
        assert_eq!(object.mutable_gpu_data(), Err(SYNCEDMEM_ERROR_WRONG_DEVICE));
        assert!(last_error().contains("device 1") && last_error().contains("device 0"), "{}", last_error());
    });
    assert_eq!(mismatches(), before + 2);
    gpu.within(1, || assert!(object.mutable_gpu_data().is_ok(), "{}", last_error()));
    assert_eq!(syncedmem_set_device_check(false), SYNCEDMEM_SUCCESS);
    gpu.within(0, || assert!(object.gpu_data().is_ok()));
}

#[test]
fn the_device_check_may_be_asked_for_by_the_environment() {
    let environment = |&(value, _): &(&'static str, _)| vec![("SYNCEDMEM_CHECK_DEVICE", value), simulated_file()];
    each_alone(&[("1", true), ("0", false)], environment, |&(_, is_on)| {
        let gpu = gpu().with_devices(2);
        let mut object = Object::new(BYTES);
        gpu.within(1, || assert!(object.gpu_data().is_ok()));
        gpu.within(0, || assert_eq!(object.gpu_data().err(), is_on.then_some(SYNCEDMEM_ERROR_WRONG_DEVICE)));
    });
}

#[test]
fn with_the_device_check_on_a_block_of_the_current_device_is_handed_out_and_not_counted() {
    let gpu = gpu();
    assert_eq!(syncedmem_set_device_check(true), SYNCEDMEM_SUCCESS);
    let before = mismatches();
    let mut object = Object::holding(&pattern(1, BYTES));
    for current in [true, false] {
        let mut read = || object.gpu_data().unwrap_or_else(|status| panic!("{status:?} {}", last_error()));
        let data = if current { gpu.within(0, read) } else { read() };
        assert_bytes(&gpu.read(data.addr(), BYTES), &pattern(1, BYTES), &current);
    }
    assert_eq!(mismatches(), before);
    assert_eq!(syncedmem_set_device_check(false), SYNCEDMEM_SUCCESS);
}
