//! The list of entry points, the exported symbols and the header agree.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::process::Command;

use support::*;

fn exported(prefix: &str) -> BTreeSet<String> {
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(path()).output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let names = text.lines().filter_map(|line| line.split_whitespace().nth(2));
    names.map(|name| name.split('@').next().unwrap().to_owned()).filter(|name| name.starts_with(prefix)).collect()
}

fn listed() -> BTreeSet<String> {
    let names = (0..).map(|index| (library().simcuda_function)(index)).take_while(|name| !name.is_null());
    // SAFETY: the names are C strings that live for ever.
    names.map(|name| unsafe { CStr::from_ptr(name) }.to_str().unwrap().to_owned()).collect()
}

#[test]
fn every_entry_point_is_listed_and_everything_listed_is_exported() {
    assert_eq!(exported("cu"), listed());
}

#[test]
fn every_control_function_is_declared_in_the_header_and_everything_declared_is_exported() {
    let header = include_str!("../include/simulated_cuda.h");
    let uncommented = header.split("/*").map(|part| part.split("*/").last().unwrap()).collect::<String>();
    let words = uncommented.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let declared = words.filter(|word| word.starts_with("simcuda_") && !word.ends_with("_t"));
    assert_eq!(exported("simcuda_"), declared.map(str::to_owned).collect());
}

#[test]
fn nothing_else_is_exported() {
    let others: Vec<_> =
        exported("").into_iter().filter(|name| !name.starts_with("cu") && !name.starts_with("simcuda_")).collect();
    assert_eq!(others, [""; 0]);
}

#[test]
fn the_library_has_the_name_that_programs_open() {
    library();
    // SAFETY: asks for a library that is loaded already.
    let found = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_NOW) };
    assert!(!found.is_null());
}

#[test]
fn an_entry_point_is_found_by_its_base_name_for_the_version_that_has_it() {
    const SYMBOL_NOT_FOUND: i32 = 1;
    const VERSION_NOT_SUFFICIENT: i32 = 2;
    let simulator = Simulator::fresh();
    let find = |name: &CStr, version| {
        let (mut function, mut result) = (1, -1);
        let status = (simulator.cuGetProcAddress_v2)(name.as_ptr(), &mut function, version, 0, &mut result);
        (status, function, result)
    };
    let allocate = simulator.cuMemAlloc_v2 as *const () as usize;
    assert_eq!(find(c"cuMemAlloc", 12_000), (SUCCESS, allocate, 0));
    assert_eq!(find(c"cuMemAllocAsync", 11_010), (SUCCESS, 0, VERSION_NOT_SUFFICIENT));
    assert_eq!(find(c"cuMemAlok", 12_000), (SUCCESS, 0, SYMBOL_NOT_FOUND));
    assert_eq!(find(c"cuMemAlloc", 99_000).0, INVALID_VALUE);
}

#[test]
fn a_device_knows_its_place_on_the_bus() {
    let simulator = Simulator::fresh();
    let mut id = [0; 16];
    assert_eq!((simulator.cuDeviceGetPCIBusId)(id.as_mut_ptr(), 16, 1), SUCCESS);
    assert_eq!(CStr::from_bytes_until_nul(&id), Ok(c"0000:02:00.0"));
}
