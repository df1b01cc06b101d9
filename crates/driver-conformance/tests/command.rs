//! The program as its users run it, on the simulated driver and on ones that break a rule.

#![expect(clippy::unwrap_used, reason = "a test that cannot begin fails")]

use std::path::Path;
use std::process::Command;

#[allow(dead_code, clippy::undocumented_unsafe_blocks, reason = "a part of it is used; tests say no SAFETY")]
#[path = "../../../tests/support/driver.rs"]
mod driver;

use driver::simulated;

/// The exit status, and what the program printed.
fn conformance(driver: &Path, arguments: &[&str], settings: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_driver-conformance"));
    let output = command.arg("--driver").arg(driver).args(arguments).envs(settings.iter().copied()).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn the_simulated_driver_conforms_and_nothing_is_left_in_it() {
    let (status, text) = conformance(simulated(), &[], &[("SIMCUDA_DEVICES", "2"), ("SIMCUDA_REPORT", "1")]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains(" 0 failed, 0 skipped\n"), "{text}");
    let left = "0 device blocks (0 bytes), 0 pinned blocks (0 bytes), 0 registered blocks, 0 contexts, 0 streams, 0 events; 0 violations";
    assert!(text.contains(left), "{text}");
    let found = "ok - what number page locked memory has (found: known by a number, a number alone, its context)\n";
    assert!(text.contains(found), "{text}");
    let mut names: Vec<_> = text.lines().filter(|line| line.starts_with("ok - ")).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert!(names.len() == all && all > 80, "{all} checks, {} names", names.len());
}

#[test]
fn with_one_device_what_needs_two_is_skipped() {
    let (status, text) = conformance(simulated(), &["--only", "two devices"], &[("SIMCUDA_DEVICES", "1")]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("(there is one device)"), "{text}");
    assert!(text.ends_with("conformance: 0 passed, 0 failed, 1 skipped\n"), "{text}");
}

#[test]
fn a_driver_that_forgets_a_rule_is_found_out() {
    // The faulty driver accepts a release without a retain.
    let fault = [("SIMCUDA_FAIL", "cuDevicePrimaryCtxRelease_v2:1=0")];
    let (status, text) = conformance(simulated(), &["--only", "releasing what is not retained"], &fault);
    assert_eq!(status, Some(1), "{text}");
    let expected = "(expected CUDA_ERROR_INVALID_CONTEXT (201) from cuDevicePrimaryCtxRelease_v2, got CUDA_SUCCESS (0); \
                    cuDevicePrimaryCtxRelease)";
    assert!(text.contains(expected), "{text}");
}
