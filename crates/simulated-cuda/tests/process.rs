//! Load, environment, fork and exit.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::ffi::c_int;

use support::*;

#[test]
fn before_init_only_what_needs_no_device_works() {
    let output = in_a_process("before_init_only_what_needs_no_device_works", &[], |library| {
        let (mut number, mut name, mut context) = (0, std::ptr::null(), 0);
        assert_eq!((library.cuDriverGetVersion)(&mut number), SUCCESS);
        assert_eq!(number, 12_080);
        assert_eq!((library.cuGetErrorName)(2, &mut name), SUCCESS);
        assert_eq!((library.cuDeviceGetCount)(&mut number), NOT_INITIALIZED);
        assert_eq!((library.cuDevicePrimaryCtxRetain)(&mut context, 0), NOT_INITIALIZED);
        assert_eq!((library.simcuda_is_simulated)(), 1);
        (library.simcuda_set_memory)(1, 4096);
        (library.simcuda_reset)();
    });
    assert!(output.status.success(), "{}", said(&output));
}

fn devices(test: &str, environment: &[(&str, &str)]) -> String {
    let output = in_a_process(test, environment, |library| {
        let mut count: c_int = 0;
        let status = (library.cuInit)(0);
        (library.cuDeviceGetCount)(&mut count);
        let names = (0..count).map(|device| {
            let mut name = [0; 64];
            assert_eq!((library.cuDeviceGetName)(name.as_mut_ptr(), 64, device), SUCCESS);
            text_of(&name).rsplit(' ').next().unwrap().to_owned()
        });
        eprintln!("<{status}:{}>", names.collect::<Vec<_>>().join(","));
    });
    let said = said(&output);
    said.split_once('<').unwrap().1.split_once('>').unwrap().0.to_owned()
}

#[test]
fn there_are_two_devices() {
    assert_eq!(devices("there_are_two_devices", &[]), "0:0,1");
}

#[test]
fn the_environment_says_how_many_devices_there_are() {
    let test = "the_environment_says_how_many_devices_there_are";
    assert_eq!(devices(test, &[("SIMCUDA_DEVICES", "3")]), "0:0,1,2");
}

#[test]
fn without_devices_init_fails() {
    assert_eq!(devices("without_devices_init_fails", &[("SIMCUDA_DEVICES", "0")]), "100:");
}

#[test]
fn visible_devices_are_listed_by_index_in_the_order_of_the_list() {
    let test = "visible_devices_are_listed_by_index_in_the_order_of_the_list";
    let environment = [("SIMCUDA_DEVICES", "4"), ("CUDA_VISIBLE_DEVICES", "3, 1")];
    assert_eq!(devices(test, &environment), "0:3,1");
}

#[test]
fn an_entry_that_names_no_device_ends_the_list() {
    let test = "an_entry_that_names_no_device_ends_the_list";
    let environment = [("SIMCUDA_DEVICES", "4"), ("CUDA_VISIBLE_DEVICES", "2,-1,3")];
    assert_eq!(devices(test, &environment), "0:2");
}

#[test]
fn an_empty_list_hides_all_devices() {
    assert_eq!(devices("an_empty_list_hides_all_devices", &[("CUDA_VISIBLE_DEVICES", "")]), "100:");
}

#[test]
fn the_environment_says_how_much_memory_there_is_and_which_version() {
    let test = "the_environment_says_how_much_memory_there_is_and_which_version";
    let output = in_a_process(test, &[("SIMCUDA_MEMORY", "3M"), ("SIMCUDA_VERSION", "10020")], |library| {
        let (mut context, mut free, mut total, mut version) = (0, 0, 0, 0);
        assert_eq!((library.cuInit)(0), SUCCESS);
        assert_eq!((library.cuDevicePrimaryCtxRetain)(&mut context, 0), SUCCESS);
        assert_eq!((library.cuCtxSetCurrent)(context), SUCCESS);
        assert_eq!((library.cuMemGetInfo_v2)(&mut free, &mut total), SUCCESS);
        assert_eq!((library.cuDriverGetVersion)(&mut version), SUCCESS);
        assert_eq!((total, version), (3 << 20, 10_020));
    });
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn the_environment_says_what_a_devices_attributes_are() {
    const NOT_SUPPORTED: c_int = 801;
    let test = "the_environment_says_what_a_devices_attributes_are";
    let output = in_a_process(test, &[("SIMCUDA_ATTRIBUTES", "18=1, 99=0")], |library| {
        let (mut values, mut context) = ([-1; 3], 0);
        assert_eq!((library.cuInit)(0), SUCCESS);
        for (attribute, value) in [18, 99, 41].into_iter().zip(&mut values) {
            assert_eq!((library.cuDeviceGetAttribute)(value, attribute, 0), SUCCESS);
        }
        assert_eq!(values, [1, 0, 1], "integrated, without registration, and unified addressing as ever");
        assert_eq!((library.cuDevicePrimaryCtxRetain)(&mut context, 0), SUCCESS);
        assert_eq!((library.cuCtxSetCurrent)(context), SUCCESS);
        let memory = [0u8; 100];
        assert_eq!((library.cuMemHostRegister_v2)(memory.as_ptr().expose_provenance(), 100, 0), NOT_SUPPORTED);
    });
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn attributes_that_cannot_be_read_end_the_process() {
    let output =
        in_a_process("attributes_that_cannot_be_read_end_the_process", &[("SIMCUDA_ATTRIBUTES", "18")], |library| {
            let mut value = 0;
            (library.cuInit)(0);
            (library.cuDeviceGetAttribute)(&mut value, 18, 0);
        });
    assert!(said(&output).contains("SIMCUDA_ATTRIBUTES: \"18\" is not number=value"), "{}", said(&output));
    assert!(!output.status.success());
}

#[test]
fn a_call_in_a_forked_child_aborts_and_the_parent_goes_on() {
    let output = in_a_process("a_call_in_a_forked_child_aborts_and_the_parent_goes_on", &[], |_| {
        let simulator = Simulator::fresh();
        let block = simulator.device_block(512);
        let status = in_a_forked_child(|| {
            (simulator.cuMemFree_v2)(block);
        });
        assert!(died_of(status, libc::SIGABRT), "{status}");
        assert_eq!((simulator.cuMemFree_v2)(block), SUCCESS);
    });
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("cuMemFree_v2 was called in a forked child"), "{}", said(&output));
}

#[test]
fn a_forked_child_that_calls_nothing_ends_as_it_likes_and_can_look_at_the_log() {
    let simulator = Simulator::fresh();
    simulator.device_block(512);
    let status = in_a_forked_child(|| {
        assert_eq!((simulator.simcuda_calls)(c"cuMemAlloc".as_ptr()), 1);
        (simulator.simcuda_reset)();
    });
    assert_eq!(status, 0);
}

#[test]
fn the_child_of_a_process_that_did_not_initialise_can() {
    let output = in_a_process("the_child_of_a_process_that_did_not_initialise_can", &[], |library| {
        let mut version = 0;
        (library.cuDriverGetVersion)(&mut version);
        let status = in_a_forked_child(|| assert_eq!((library.cuInit)(0), SUCCESS));
        assert_eq!(status, 0);
    });
    assert!(output.status.success(), "{}", said(&output));
}

extern "C" fn call_after_exit() {
    let mut count = 0;
    (library().cuDeviceGetCount)(&mut count);
}

fn exit_with_a_call(library: &Library, before_init: bool) {
    for step in [before_init, !before_init] {
        if step {
            // SAFETY: the function is this program's.
            assert_eq!(unsafe { libc::atexit(call_after_exit) }, 0);
        } else {
            assert_eq!((library.cuInit)(0), SUCCESS);
        }
    }
}

#[test]
fn a_call_after_the_exit_handler_aborts() {
    let test = "a_call_after_the_exit_handler_aborts";
    let output = in_a_process(test, &[], |library| exit_with_a_call(library, true));
    assert!(aborted(&output), "{:?}", output.status);
    assert!(said(&output).contains("cuDeviceGetCount was called after the driver's exit handler ran"));
}

#[test]
fn a_call_at_exit_before_the_exit_handler_works() {
    let test = "a_call_at_exit_before_the_exit_handler_works";
    let output = in_a_process(test, &[], |library| exit_with_a_call(library, false));
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn use_of_a_destroyed_stream_aborts() {
    let output = in_a_process("use_of_a_destroyed_stream_aborts", &[], |_| {
        let simulator = Simulator::fresh();
        let stream = simulator.stream(0);
        assert_eq!((simulator.cuStreamDestroy_v2)(stream), SUCCESS);
        (simulator.cuStreamSynchronize)(stream);
    });
    assert!(aborted(&output));
    assert!(said(&output).contains("use of stream 0x") && said(&output).contains("which was destroyed"));
}

#[test]
fn use_of_a_destroyed_event_aborts() {
    let output = in_a_process("use_of_a_destroyed_event_aborts", &[], |_| {
        let simulator = Simulator::fresh();
        let event = simulator.event();
        assert_eq!((simulator.cuEventDestroy_v2)(event), SUCCESS);
        (simulator.cuEventDestroy_v2)(event);
    });
    assert!(aborted(&output));
    assert!(said(&output).contains("use of event 0x") && said(&output).contains("which was destroyed"));
}

#[test]
fn a_report_at_exit_says_what_is_alive() {
    let output = in_a_process("a_report_at_exit_says_what_is_alive", &[("SIMCUDA_REPORT", "1")], |_| {
        let simulator = std::mem::ManuallyDrop::new(Simulator::fresh());
        let block = simulator.device_block(512);
        assert_eq!((simulator.cuMemcpy)(block, address_of(&[1; 100]), 100), SUCCESS);
    });
    assert!(said(&output).contains("peaks: device=512 pinned=0\n"), "{}", said(&output));
    assert!(said(&output).contains("copies: HtoD=1,100\n"), "{}", said(&output));
    assert!(said(&output).contains("calls: cuMemAlloc_v2=1 cuMemcpy=1\n"), "{}", said(&output));
    let expected = "alive at exit: 1 device blocks (512 bytes), 0 pinned blocks (0 bytes), 0 registered blocks, 1 contexts, 0 streams, 0 events; 0 violations";
    assert!(said(&output).contains(expected), "{}", said(&output));
}

#[test]
fn the_environment_says_how_late_work_is() {
    let output = in_a_process("the_environment_says_how_late_work_is", &[("SIMCUDA_LAG", "60000000")], |_| {
        let simulator = std::mem::ManuallyDrop::new(Simulator::fresh());
        let (block, stream) = (simulator.device_block(512), simulator.stream(0));
        assert_eq!((simulator.cuMemsetD8Async)(block, 1, 512, stream), SUCCESS);
        assert_eq!((simulator.cuStreamQuery)(stream), NOT_READY);
    });
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn a_process_ends_silently_while_a_stream_is_held() {
    let output = in_a_process("a_process_ends_silently_while_a_stream_is_held", &[], |_| {
        let simulator = std::mem::ManuallyDrop::new(Simulator::fresh());
        let (block, stream) = (simulator.device_block(512), simulator.stream(0));
        (simulator.simcuda_hold_streams)();
        assert_eq!((simulator.cuMemsetD8Async)(block, 1, 512, stream), SUCCESS);
    });
    assert!(output.status.success());
    assert_eq!(said(&output), "");
}
