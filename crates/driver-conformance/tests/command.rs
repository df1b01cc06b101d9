//! The program as its users run it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn conformance(arguments: &[&str]) -> Output {
    match Command::new(env!("CARGO_BIN_EXE_driver-conformance")).args(arguments).output() {
        Ok(output) => output,
        Err(error) => panic!("the program does not start: {error}"),
    }
}

fn standard_output(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn standard_error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_list_names_every_check_and_its_source() {
    let output = conformance(&["--list"]);
    assert_eq!(output.status.code(), Some(0));
    let text = standard_output(&output);
    let lines: Vec<_> = text.lines().collect();
    assert!(lines.len() > 200, "more than a hundred checks, two lines each: {}", lines.len());
    for pair in lines.chunks(2) {
        assert!(!pair[0].starts_with(' ') && pair[0].contains(' '), "a sentence: {}", pair[0]);
        let cited = ["    Driver API, ", "    Programming Guide, "].iter().any(|start| pair[1].starts_with(start));
        assert!(cited, "{} cites {}", pair[0], pair[1]);
    }
}

#[test]
fn no_two_checks_have_the_same_name() {
    let text = standard_output(&conformance(&["--list"]));
    let mut names: Vec<_> = text.lines().step_by(2).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}

#[test]
fn only_narrows_the_list() {
    let text = standard_output(&conformance(&["--list", "--only", "freed once"]));
    assert_eq!(text.lines().step_by(2).collect::<Vec<_>>(), ["a block is freed once", "it is freed once"]);
}

#[test]
fn help_tells_the_options_and_the_statuses() {
    let output = conformance(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    for word in ["--driver", "--device", "--only", "--list", "--describe", "Exit status"] {
        assert!(standard_output(&output).contains(word), "{word}");
    }
}

#[test]
fn an_unknown_option_is_named() {
    let output = conformance(&["--quickly"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(standard_error(&output).contains("unknown option: --quickly"), "{}", standard_error(&output));
    assert_eq!(standard_output(&output), "");
}

#[test]
fn an_option_without_its_value_is_named() {
    let output = conformance(&["--driver"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(standard_error(&output).contains("--driver needs a value"), "{}", standard_error(&output));
}

#[test]
fn an_absent_driver_is_a_sentence_and_status_2() {
    let output = conformance(&["--driver", "/nowhere/libcuda.so.1"]);
    assert_eq!(output.status.code(), Some(2));
    let text = standard_error(&output);
    assert!(text.contains("there is no driver to check: /nowhere/libcuda.so.1"), "{text}");
    assert_eq!(standard_output(&output), "");
}

#[test]
fn a_library_that_is_no_driver_fails_its_first_check() {
    let output = conformance(&["--driver", "libc.so.6", "--only", "entry point of old drivers"]);
    assert_eq!(output.status.code(), Some(1));
    let text = standard_output(&output);
    assert!(text.contains("not ok - every entry point of old drivers is there"), "{text}");
    assert!(text.ends_with("conformance: 0 passed, 1 failed, 0 skipped\n"), "{text}");
}

#[test]
fn a_library_that_cannot_initialize_has_no_device_to_check() {
    let output = conformance(&["--driver", "libc.so.6", "--only", "freed once"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(standard_error(&output).contains("there is no device to check"), "{}", standard_error(&output));
}

/// The simulated driver, built for the same target as this test.
fn simulator() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = Path::new(env!("CARGO_BIN_EXE_driver-conformance")).ancestors().nth(2);
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(workspace).args(["build", "--quiet", "-p", "simulated-cuda", "--message-format=json"]);
    cargo.arg("--target-dir").args(target);
    let output = match cargo.output() {
        Ok(output) => output,
        Err(error) => panic!("cargo does not start: {error}"),
    };
    assert!(output.status.success(), "the simulated driver does not build: {}", standard_error(&output));
    let text = standard_output(&output);
    let file = text.split('"').find(|word| word.ends_with("/libcuda.so"));
    match file {
        Some(file) => PathBuf::from(file),
        None => panic!("cargo names no libcuda.so: {text}"),
    }
}

fn on_the_simulator(arguments: &[&str], settings: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_driver-conformance"));
    command.arg("--driver").arg(simulator()).args(arguments).envs(settings.iter().copied());
    match command.output() {
        Ok(output) => output,
        Err(error) => panic!("the program does not start: {error}"),
    }
}

#[test]
fn the_simulated_driver_conforms() {
    let output = on_the_simulator(&[], &[("SIMCUDA_DEVICES", "2")]);
    let text = standard_output(&output);
    let failures: Vec<_> = text.lines().filter(|line| line.starts_with("not ok")).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!(output.status.code(), Some(0), "{text}{}", standard_error(&output));
    let skipped: Vec<_> = text.lines().filter(|line| line.starts_with("skipped")).collect();
    assert!(skipped.is_empty(), "{}", skipped.join("\n"));
}

#[test]
fn what_the_documentation_does_not_decide_is_reported_and_no_failure() {
    let only = ["--only", "number"];
    let text = standard_output(&on_the_simulator(&only, &[]));
    let line = "ok - what number memory has that is registered again at the same address (found: known by a number; \
                unregistered: unknown; again: known by another number, in the same context)";
    assert!(text.lines().any(|found| found == line), "{text}");
    let output = on_the_simulator(&only, &[("SIMCUDA_NO_HOST_IDS", "1")]);
    let text = standard_output(&output);
    assert!(text.contains("registered: known without a number, CUDA_ERROR_INVALID_VALUE (1) alone"), "{text}");
    assert!(!text.contains("(found: )"), "{text}");
}

#[test]
fn the_suite_leaves_nothing_behind_and_breaks_no_rule() {
    let output = on_the_simulator(&[], &[("SIMCUDA_REPORT", "1")]);
    let text = standard_error(&output);
    let expected = "0 device blocks (0 bytes), 0 pinned blocks (0 bytes), 0 registered blocks, 0 contexts, 0 streams, \
                    0 events; 0 violations";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn with_one_device_what_needs_two_is_skipped() {
    let output = on_the_simulator(&["--only", "two devices"], &[("SIMCUDA_DEVICES", "1")]);
    let text = standard_output(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("(there is one device)"), "{text}");
    assert!(text.contains(" 0 passed, 0 failed, 1 skipped"), "{text}");
}

#[test]
fn a_driver_that_forgets_a_rule_is_found_out() {
    // The faulty driver accepts a release without a retain.
    let fault = [("SIMCUDA_FAIL", "cuDevicePrimaryCtxRelease_v2:1=0")];
    let output = on_the_simulator(&["--only", "releasing what nobody retains"], &fault);
    let text = standard_output(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let expected = "expected CUDA_ERROR_INVALID_CONTEXT (201) from cuDevicePrimaryCtxRelease_v2, got CUDA_SUCCESS (0)";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn the_simulated_driver_is_described_as_simulated() {
    let text = standard_output(&on_the_simulator(&["--describe"], &[("SIMCUDA_DEVICES", "2")]));
    assert!(text.starts_with("simulated: yes\ncuda: 12.8\n"), "{text}");
    for line in ["devices: 2", "pci: 0000:01:00.0", "unified addressing: 1", "integrated: 0", "host registration: 1"] {
        assert!(text.lines().any(|said| said == line), "{line}: {text}");
    }
}

/// A driver that is the simulated one but for the functions of `source`, in C: what it lacks the loader finds in the
/// library that it needs.
fn driver_with(name: &str, source: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let (code, library) = (folder.join("driver.c"), folder.join("driver.so"));
    let written = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&code, source));
    assert!(written.is_ok(), "{written:?}");
    let simulator = simulator();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-Wl,--no-as-needed", "-o"]).arg(&library).arg(&code).arg(&simulator);
    compiler.arg(format!("-Wl,-rpath,{}", folder.display()));
    let status = compiler.status();
    assert!(status.as_ref().is_ok_and(|status| status.success()), "{status:?}");
    // Programs look for it by the name that it carries.
    let link = folder.join("libcuda.so.1");
    let _ = std::fs::remove_file(&link);
    let linked = std::os::unix::fs::symlink(&simulator, &link);
    assert!(linked.is_ok(), "{linked:?}");
    library
}

fn checked_with(driver: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_driver-conformance"));
    match command.arg("--driver").arg(driver).args(arguments).output() {
        Ok(output) => (output.status.code(), standard_output(&output)),
        Err(error) => panic!("the program does not start: {error}"),
    }
}

#[test]
fn a_check_that_hangs_is_killed_and_the_others_are_run() {
    let driver = driver_with("hangs", "#include <unistd.h>\nint cuEventQuery(void *event) { for (;;) pause(); }\n");
    let (status, text) = checked_with(&driver, &["--limit", "1", "--only", "Driver API, cuEvent"]);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("(expected the process to finish, got no end within 1 s)"), "{text}");
    let lines: Vec<_> = text.lines().collect();
    let hung = lines.iter().position(|line| line.contains("no end within"));
    assert!(hung.is_some_and(|at| lines[at..].iter().any(|line| line.starts_with("ok - "))), "{text}");
}

#[test]
fn a_check_that_crashes_loses_no_other() {
    let driver = driver_with("crashes", "#include <stdlib.h>\nint cuEventQuery(void *event) { abort(); }\n");
    let (status, text) = checked_with(&driver, &["--only", "Driver API, cuEvent"]);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("(expected the process to finish, got signal: 6 (SIGABRT)"), "{text}");
    let (_, list) = checked_with(&driver, &["--list", "--only", "Driver API, cuEvent"]);
    let lines = text.lines().filter(|line| line.contains(" - ")).count();
    assert_eq!(lines, list.lines().count() / 2, "every check has one line: {text}");
}

#[test]
fn a_driver_that_crashes_at_exit_is_found_out() {
    let source = "#include <stdlib.h>\n__attribute__((destructor)) static void end(void) { abort(); }\n";
    let (status, text) = checked_with(&driver_with("exits", source), &["--only", "freed once"]);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("ok - a block is freed once"), "{text}");
    assert!(text.contains("not ok - the driver's exit"), "{text}");
}

#[test]
fn a_driver_without_a_device_is_a_sentence_and_status_2() {
    let output = on_the_simulator(&["--only", "freed once"], &[("CUDA_VISIBLE_DEVICES", "")]);
    assert_eq!(output.status.code(), Some(2), "{}", standard_output(&output));
    let text = standard_error(&output);
    assert!(text.contains("there is no device to check: cuInit returned CUDA_ERROR_NO_DEVICE (100)"), "{text}");
}
