//! The log, the counts, the injected faults, and the names that they take.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::BTreeSet;
use std::process::Command;

use support::*;

#[test]
fn a_copy_is_one_line_that_says_where_from_where_to_how_much_and_which_way() {
    let simulator = Simulator::fresh();
    let device = simulator.device_block(4096);
    let host = vec![1; 4096];
    simulator.control.simcuda_clear_log();
    assert_eq!(simulator.cuMemcpy(device, address_of(&host), 4096), SUCCESS);
    let (context, host) = (simulator.context.addr(), address_of(&host));
    let expected = format!("cuMemcpy dst=0x{device:x} src=0x{host:x} bytes=4096 kind=HtoD ctx=0x{context:x} thread=");
    let log = simulator.log();
    assert!(log.starts_with(&expected) && log.ends_with(" -> 0\n"), "{log}");
    assert_eq!(log.lines().count(), 1);
    let mut room = [b'?'; 9];
    assert_eq!(simulator.control.simcuda_log(room.as_mut_ptr().cast(), room.len()), log.len());
    assert_eq!(text_of(&room), &log[..8]);
}

#[test]
fn calls_and_copies_are_counted_by_name_and_by_kind_and_size() {
    let simulator = Simulator::fresh();
    let (device, stream, host) = (simulator.device_block(4096), simulator.stream(0), vec![1; 4096]);
    assert_eq!(simulator.cuMemcpy(device, address_of(&host), 4096), SUCCESS);
    assert_eq!(simulator.cuMemcpyAsync(device, address_of(&host), 4096, stream), SUCCESS);
    assert_eq!(simulator.cuMemcpyAsync(address_of(&host), device, 16, stream), SUCCESS);
    assert_eq!(simulator.cuMemcpy(device, device + 2048, 16), SUCCESS);
    assert_eq!(simulator.cuMemcpy(device, address_of(&host), 4097), INVALID_VALUE);
    assert_eq!(simulator.cuMemcpy(device, address_of(&host), 0), SUCCESS);
    assert_eq!(
        [simulator.calls("cuMemAlloc_v2"), simulator.calls("cuMemAlloc"), simulator.calls("cuMemFree")],
        [1, 1, 0]
    );
    assert_eq!(simulator.control.simcuda_calls(std::ptr::null()), 8);
    assert_eq!(
        [simulator.copies("HtoD", 4096), simulator.copies("HtoD", usize::MAX), simulator.copies("DtoH", 16)],
        [2, 2, 1]
    );
    assert_eq!(simulator.control.simcuda_copies(std::ptr::null(), 16), 2);
    simulator.control.simcuda_clear_log();
    assert_eq!((simulator.control.simcuda_calls(std::ptr::null()), simulator.log()), (0, String::new()));
}

#[test]
fn the_nth_call_of_a_function_fails_as_often_as_said_and_does_nothing() {
    let simulator = Simulator::fresh();
    simulator.fail("cuMemAlloc_v2", 2, OUT_OF_MEMORY, 1);
    let mut address = 7;
    simulator.device_block(512);
    assert_eq!(simulator.cuCtxSynchronize(), SUCCESS);
    assert_eq!(simulator.cuMemAlloc_v2(&mut address, 512), OUT_OF_MEMORY);
    assert_eq!(address, 7);
    simulator.device_block(512);
    assert_eq!((simulator.account().device_blocks, simulator.calls("cuMemAlloc_v2")), (2, 3));
    simulator.fail("cuCtxSynchronize", 1, 12_345, 2);
    let statuses: Vec<_> = (0..3).map(|_| simulator.cuCtxSynchronize()).collect();
    assert_eq!(statuses, [12_345, 12_345, SUCCESS]);
    simulator.fail("cuCtxSynchronize", 1, -1, 0);
    assert!((0..10).all(|_| simulator.cuCtxSynchronize() == -1));
    simulator.control.simcuda_clear_faults();
    assert_eq!(simulator.cuCtxSynchronize(), SUCCESS);
}

#[test]
fn faults_can_come_from_the_environment() {
    let environment = [("SIMCUDA_FAIL", "cuInit:2=999,cuDriverGetVersion:1=36")];
    let output = in_a_process("faults_can_come_from_the_environment", &environment, |library| {
        let mut version = 0;
        let statuses = [library.cuInit(0), library.cuInit(0), library.cuDriverGetVersion(&mut version)];
        eprintln!("statuses {statuses:?}");
        library.control.simcuda_fail(c"cuMemAlok".as_ptr(), 1, 2, 1);
    });
    assert!(said(&output).contains("statuses [0, 999, 36]"), "{}", said(&output));
    assert!(aborted(&output) && said(&output).contains("there is no entry point \"cuMemAlok\""), "{}", said(&output));
}

fn exported() -> BTreeSet<String> {
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let names = text.lines().filter_map(|line| line.split_whitespace().nth(2));
    names.map(|name| name.split('@').next().unwrap().to_owned()).collect()
}

#[test]
fn the_library_exports_entry_points_whose_names_are_known_and_the_functions_of_the_header() {
    let simulator = Simulator::fresh();
    let header = include_str!("../include/simulated_cuda.h");
    let uncommented = header.split("/*").map(|part| part.split("*/").last().unwrap()).collect::<String>();
    let words = uncommented.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let declared: BTreeSet<_> = words.filter(|word| word.starts_with("simcuda_") && !word.ends_with("_t")).collect();
    let exported = exported();
    let (controls, calls): (Vec<_>, Vec<_>) = exported.iter().partition(|name| name.starts_with("simcuda_"));
    assert_eq!(controls, declared.into_iter().collect::<Vec<_>>());
    // An unknown name ends the process.
    calls.iter().for_each(|name| assert_eq!((name.get(..2), simulator.calls(name)), (Some("cu"), 0)));
}
