//! The log, the counts and the injected faults.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use support::*;

#[test]
fn a_copy_is_one_line_that_says_where_from_where_to_how_much_and_which_way() {
    let simulator = Simulator::fresh();
    let device = simulator.device_block(4096);
    let host = vec![1; 4096];
    (simulator.simcuda_clear_log)();
    assert_eq!((simulator.cuMemcpy)(device, address_of(&host), 4096), SUCCESS);
    let (context, host) = (simulator.context, address_of(&host));
    let expected = format!("cuMemcpy dst=0x{device:x} src=0x{host:x} bytes=4096 kind=HtoD ctx=0x{context:x} thread=");
    let log = simulator.log();
    assert!(log.starts_with(&expected) && log.ends_with(" -> 0\n"), "{log}");
    assert_eq!(log.lines().count(), 1);
}

#[test]
fn a_log_that_does_not_fit_is_cut_and_its_length_returned() {
    let simulator = Simulator::fresh();
    simulator.device_block(512);
    let whole = simulator.log();
    let mut room = [b'?'; 9];
    assert_eq!((simulator.simcuda_log)(room.as_mut_ptr(), room.len()), whole.len());
    assert_eq!(text_of(&room), &whole[..8]);
}

#[test]
fn calls_are_counted_by_name_with_and_without_version_and_all_together() {
    let simulator = Simulator::fresh();
    simulator.device_block(512);
    simulator.device_block(512);
    assert_eq!((simulator.cuCtxSynchronize)(), SUCCESS);
    assert_eq!(simulator.calls("cuMemAlloc_v2"), 2);
    assert_eq!(simulator.calls("cuMemAlloc"), 2);
    assert_eq!(simulator.calls("cuMemFree_v2"), 0);
    assert_eq!((simulator.simcuda_calls)(std::ptr::null()), 3);
    (simulator.simcuda_clear_log)();
    assert_eq!((simulator.simcuda_calls)(std::ptr::null()), 0);
    assert_eq!(simulator.log(), "");
}

#[test]
fn copies_are_counted_by_kind_and_size_when_they_are_accepted() {
    let simulator = Simulator::fresh();
    let (device, stream) = (simulator.device_block(4096), simulator.stream(0));
    let host = vec![1; 4096];
    assert_eq!((simulator.cuMemcpy)(device, address_of(&host), 4096), SUCCESS);
    assert_eq!((simulator.cuMemcpyAsync)(device, address_of(&host), 4096, stream), SUCCESS);
    assert_eq!((simulator.cuMemcpyAsync)(address_of(&host), device, 16, stream), SUCCESS);
    assert_eq!((simulator.cuMemcpy)(device, device + 2048, 16), SUCCESS);
    assert_eq!((simulator.cuMemcpy)(device, address_of(&host), 4097), INVALID_VALUE);
    assert_eq!((simulator.cuMemcpy)(device, address_of(&host), 0), SUCCESS);
    assert_eq!(simulator.copies("HtoD", 4096), 2);
    assert_eq!(simulator.copies("HtoD", usize::MAX), 2);
    assert_eq!(simulator.copies("DtoH", 16), 1);
    assert_eq!(simulator.copies("DtoD", 16), 1);
    assert_eq!((simulator.simcuda_copies)(std::ptr::null(), 16), 2);
    assert_eq!((simulator.simcuda_copies)(std::ptr::null(), usize::MAX), 4);
}

#[test]
fn the_nth_call_fails_and_does_nothing_and_the_others_work() {
    let simulator = Simulator::fresh();
    simulator.fail("cuMemAlloc_v2", 2, OUT_OF_MEMORY, 1);
    let mut address = 7;
    simulator.device_block(512);
    assert_eq!((simulator.cuMemAlloc_v2)(&mut address, 512), OUT_OF_MEMORY);
    assert_eq!(address, 7);
    simulator.device_block(512);
    assert_eq!(simulator.account().device_blocks, 2);
    assert_eq!(simulator.calls("cuMemAlloc_v2"), 3);
    assert!(simulator.log().contains(" -> 2\n"));
}

#[test]
fn faults_last_as_often_as_said_have_any_status_and_can_be_taken_back() {
    let simulator = Simulator::fresh();
    simulator.fail("cuCtxSynchronize", 1, 12_345, 2);
    let statuses: Vec<_> = (0..3).map(|_| (simulator.cuCtxSynchronize)()).collect();
    assert_eq!(statuses, [12_345, 12_345, SUCCESS]);
    simulator.fail("cuCtxSynchronize", 1, -1, 0);
    assert!((0..10).all(|_| (simulator.cuCtxSynchronize)() == -1));
    (simulator.simcuda_clear_faults)();
    assert_eq!((simulator.cuCtxSynchronize)(), SUCCESS);
}

#[test]
fn a_fault_counts_the_calls_of_its_own_function_alone() {
    let simulator = Simulator::fresh();
    simulator.fail("cuMemFree_v2", 2, 719, 1);
    let blocks = [simulator.device_block(512), simulator.device_block(512)];
    assert_eq!((simulator.cuCtxSynchronize)(), SUCCESS);
    assert_eq!((simulator.cuMemFree_v2)(blocks[0]), SUCCESS);
    assert_eq!((simulator.cuMemFree_v2)(blocks[1]), 719);
    assert_eq!((simulator.cuMemFree_v2)(blocks[1]), SUCCESS);
}

#[test]
fn a_fault_for_a_function_that_does_not_exist_aborts() {
    let output = in_a_process("a_fault_for_a_function_that_does_not_exist_aborts", &[], |library| {
        (library.simcuda_fail)(c"cuMemAlok".as_ptr(), 1, 2, 1);
    });
    assert!(aborted(&output));
    assert!(said(&output).contains("there is no entry point \"cuMemAlok\""), "{}", said(&output));
}

#[test]
fn faults_can_come_from_the_environment() {
    let environment = [("SIMCUDA_FAIL", "cuInit:2=999,cuDriverGetVersion:1=36")];
    let output = in_a_process("faults_can_come_from_the_environment", &environment, |library| {
        let mut version = 0;
        let statuses = [(library.cuInit)(0), (library.cuInit)(0), (library.cuDriverGetVersion)(&mut version)];
        eprintln!("statuses {statuses:?}");
    });
    assert!(said(&output).contains("statuses [0, 999, 36]"), "{}", said(&output));
}

#[test]
fn a_fault_in_the_environment_that_cannot_be_read_aborts() {
    let environment = [("SIMCUDA_FAIL", "cuInit=999")];
    let output = in_a_process("a_fault_in_the_environment_that_cannot_be_read_aborts", &environment, |library| {
        (library.cuInit)(0);
    });
    assert!(aborted(&output) && said(&output).contains("SIMCUDA_FAIL"), "{}", said(&output));
}

#[test]
fn the_log_can_also_go_to_stderr() {
    let output = in_a_process("the_log_can_also_go_to_stderr", &[("SIMCUDA_LOG", "stderr")], |library| {
        (library.cuInit)(0);
    });
    assert!(said(&output).contains("cuInit thread=1 -> 0\n"), "{}", said(&output));
}

#[test]
fn the_log_can_also_go_to_a_file_that_is_appended_to() {
    let test = "the_log_can_also_go_to_a_file_that_is_appended_to";
    let file = std::env::temp_dir().join(format!("{test}-{}", std::process::id()));
    std::fs::write(&file, "before\n").unwrap();
    in_a_process(test, &[("SIMCUDA_LOG", file.to_str().unwrap())], |library| {
        (library.cuInit)(0);
    });
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(text, "before\ncuInit thread=1 -> 0\n");
}
