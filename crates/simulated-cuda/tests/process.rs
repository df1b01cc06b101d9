//! Load, environment, fork and exit.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::ffi::c_int;
use std::process::Command;

use support::*;

fn devices(test: &str, environment: &[(&str, &str)]) -> String {
    let output = in_a_process(test, environment, |library| {
        let mut count: c_int = 0;
        let status = library.cuInit(0);
        library.cuDeviceGetCount(&mut count);
        let names = (0..count).map(|device| {
            let mut name = [0; 64];
            assert_eq!(library.cuDeviceGetName(name.as_mut_ptr().cast(), 64, device), SUCCESS);
            text_of(&name).rsplit(' ').next().unwrap().to_owned()
        });
        eprintln!("<{status}:{}>", names.collect::<Vec<_>>().join(","));
    });
    let said = said(&output);
    said.split_once('<').unwrap().1.split_once('>').unwrap().0.to_owned()
}

#[test]
fn visible_devices_are_listed_by_index_until_an_entry_names_none() {
    let test = "visible_devices_are_listed_by_index_until_an_entry_names_none";
    let environment = [("SIMCUDA_DEVICES", "4"), ("CUDA_VISIBLE_DEVICES", "3, 1,-1,2")];
    assert_eq!(devices(test, &environment), "0:3,1");
}

#[test]
fn a_setting_that_cannot_be_read_ends_the_process() {
    let test = "a_setting_that_cannot_be_read_ends_the_process";
    let output = in_a_process(test, &[("SIMCUDA_DEVICES", "some")], |library| _ = library.cuInit(0));
    assert!(aborted(&output) && said(&output).contains("SIMCUDA_DEVICES=some is not a number"), "{}", said(&output));
}

#[test]
fn a_call_in_a_forked_child_aborts_and_the_parent_goes_on() {
    let output = in_a_process("a_call_in_a_forked_child_aborts_and_the_parent_goes_on", &[], |_| {
        let simulator = Simulator::fresh();
        let block = simulator.device_block(512);
        let status = in_a_forked_child(|| {
            simulator.cuMemFree_v2(block);
        });
        assert!(died_of(status, libc::SIGABRT), "{status}");
        assert_eq!(simulator.cuMemFree_v2(block), SUCCESS);
    });
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("cuMemFree_v2 was called in a forked child"), "{}", said(&output));
}

#[test]
fn the_child_of_a_process_that_did_not_initialise_can() {
    let output = in_a_process("the_child_of_a_process_that_did_not_initialise_can", &[], |library| {
        let mut version = 0;
        library.cuDriverGetVersion(&mut version);
        let status = in_a_forked_child(|| assert_eq!(library.cuInit(0), SUCCESS));
        assert_eq!(status, 0);
    });
    assert!(output.status.success(), "{}", said(&output));
}

extern "C" fn call_after_exit() {
    let mut count = 0;
    library().cuDeviceGetCount(&mut count);
}

#[test]
fn a_call_after_the_exit_handler_aborts() {
    let output = in_a_process("a_call_after_the_exit_handler_aborts", &[], |library| {
        // SAFETY: the function is this program's.
        assert_eq!(unsafe { libc::atexit(call_after_exit) }, 0);
        assert_eq!(library.cuInit(0), SUCCESS);
    });
    assert!(aborted(&output), "{:?}", output.status);
    assert!(said(&output).contains("cuDeviceGetCount was called after the driver's exit handler ran"));
}

#[test]
fn use_of_a_destroyed_stream_aborts() {
    let output = in_a_process("use_of_a_destroyed_stream_aborts", &[], |_| {
        let simulator = Simulator::fresh();
        let stream = simulator.stream(0);
        assert_eq!(simulator.cuStreamDestroy_v2(stream), SUCCESS);
        simulator.cuStreamSynchronize(stream);
    });
    assert!(aborted(&output));
    assert!(said(&output).contains("use of stream 0x") && said(&output).contains("which was destroyed"));
}

#[test]
fn a_report_at_exit_says_what_is_alive() {
    let output = in_a_process("a_report_at_exit_says_what_is_alive", &[("SIMCUDA_REPORT", "1")], |_| {
        let simulator = std::mem::ManuallyDrop::new(Simulator::fresh());
        let block = simulator.device_block(512);
        assert_eq!(simulator.cuMemcpy(block, address_of(&[1; 100]), 100), SUCCESS);
    });
    assert!(said(&output).contains("peaks: device=512 pinned=0\n"), "{}", said(&output));
    assert!(said(&output).contains("copies: HtoD=1,100\n"), "{}", said(&output));
    assert!(said(&output).contains("calls: cuMemAlloc_v2=1 cuMemcpy=1\n"), "{}", said(&output));
    let expected = "alive at exit: 1 device blocks (512 bytes), 0 pinned blocks (0 bytes), 0 registered blocks, 2 contexts, 0 streams, 0 events; 0 violations";
    assert!(said(&output).contains(expected), "{}", said(&output));
}

#[test]
fn a_process_ends_silently_while_a_stream_is_held() {
    let output = in_a_process("a_process_ends_silently_while_a_stream_is_held", &[], |_| {
        let simulator = std::mem::ManuallyDrop::new(Simulator::fresh());
        let (block, stream) = (simulator.device_block(512), simulator.stream(0));
        simulator.control.simcuda_hold_streams();
        assert_eq!(simulator.cuMemsetD8Async(block, 1, 512, stream), SUCCESS);
    });
    assert!(output.status.success());
    assert_eq!(said(&output), "");
}

/// The block of the README that starts with that fence.
fn block(fence: &str) -> &'static str {
    let readme = include_str!("../README.md");
    readme.split_once(fence).unwrap().1.split_once("```").unwrap().0
}

#[test]
fn the_example_prints_what_the_readme_says() {
    let folder = std::env::temp_dir().join(format!("simulated-cuda-readme-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("held.c"), block("```c\n")).unwrap();
    std::os::unix::fs::symlink(path(), folder.join("libcuda.so.1")).unwrap();
    let header = concat!(env!("CARGO_MANIFEST_DIR"), "/include");
    let mut compiler = Command::new("cc");
    compiler.args(["-Wall", "-Wextra", "-Werror", "held.c", "-I", header, "-o", "held", "-L", ".", "-l:libcuda.so.1"]);
    let compiled = compiler.current_dir(&folder).output().unwrap();
    assert!(compiled.status.success(), "{}", said(&compiled));
    let run = Command::new(folder.join("held")).env("LD_LIBRARY_PATH", &folder).output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(run.status.success(), "{}", said(&run));
    assert_eq!(String::from_utf8(run.stdout).unwrap(), block("```text\n"));
}
