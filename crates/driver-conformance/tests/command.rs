//! The program as its users run it, on the simulated driver and on ones that break a rule.

#![expect(clippy::unwrap_used, reason = "a test that cannot begin fails")]

use std::path::{Path, PathBuf};
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

#[test]
fn the_simulated_driver_is_described_as_simulated() {
    let (_, text) = conformance(simulated(), &["--describe"], &[("SIMCUDA_DEVICES", "2")]);
    assert!(text.starts_with("simulated: yes\ncuda: 12.8\n"), "{text}");
    for line in ["devices: 2", "unified addressing: 1", "integrated: 0", "host registration: 1"] {
        assert!(text.lines().any(|said| said == line), "{line}: {text}");
    }
}

#[test]
fn without_a_driver_or_a_device_the_status_is_2() {
    let (status, text) = conformance(Path::new("/nowhere/libcuda.so.1"), &[], &[]);
    assert_eq!(status, Some(2));
    assert!(text.contains("there is no driver to check: /nowhere/libcuda.so.1"), "{text}");
    let (status, text) = conformance(simulated(), &["--only", "freed once"], &[("CUDA_VISIBLE_DEVICES", "")]);
    assert_eq!(status, Some(2), "{text}");
    assert!(
        text.contains(
            "there is no device to check: expected CUDA_SUCCESS (0) from cuInit, got CUDA_ERROR_NO_DEVICE (100)"
        ),
        "{text}"
    );
}

/// A driver that is the simulated one but for the functions of `source`, in C: what it lacks the loader finds in the
/// library that it needs.
fn driver_with(name: &str, source: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let (code, library) = (folder.join("driver.c"), folder.join("driver.so"));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(&code, source).unwrap();
    let simulator = simulated();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-Wl,--no-as-needed", "-o"]).arg(&library).arg(&code).arg(simulator);
    assert!(compiler.arg(format!("-Wl,-rpath,{}", folder.display())).status().unwrap().success());
    // Programs look for it by the name that it carries.
    let link = folder.join("libcuda.so.1");
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(simulator, &link).unwrap();
    library
}

#[test]
fn after_a_check_that_hangs_or_crashes_the_others_are_run() {
    let hangs = driver_with("hangs", "#include <unistd.h>\nint cuEventQuery(void *event) { for (;;) pause(); }\n");
    let crashes = driver_with("crashes", "#include <stdlib.h>\nint cuEventQuery(void *event) { abort(); }\n");
    // A check that crashes needs no limit of time: a busy machine may be slow to reach it.
    for (driver, limit, why) in [(hangs, "1", "got none within 1 s"), (crashes, "300", "got signal: 6 (SIGABRT)")] {
        let (status, text) = conformance(&driver, &["--limit", limit, "--only", "cuStreamDestroy"], &[]);
        assert_eq!(status, Some(1), "{text}");
        assert!(text.contains("not ok - a stream destroyed with work finishes it (") && text.contains(why), "{text}");
        assert!(text.contains("not ok - an event outlives its stream ("), "{text}");
        assert!(text.ends_with("conformance: 0 passed, 2 failed, 0 skipped\n"), "{text}");
    }
}
