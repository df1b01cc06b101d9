//! The output and the exit status of a run.

use std::collections::BTreeSet;
use std::process::Command;

use crate::support::harness::{NOTHING_RAN, running};
use crate::support::*;

/// Runs this program with `arguments`, where there is no driver. Returns its exit status and what it printed.
fn run(arguments: &[&str], environment: (&str, &str)) -> (Option<i32>, String) {
    let mut process = Command::new(std::env::current_exe().unwrap());
    let process = process.args(arguments).env("SYNCEDMEM_TEST_DRIVER", "none").env_remove("SYNCEDMEM_TEST_SUITES");
    let output = process.env(environment.0, environment.1).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs `body` as the running test of another process.
fn outcome_of(body: impl FnOnce()) -> (Option<i32>, String) {
    if inside() {
        body();
    }
    run(&[&running(), "--exact"], ("SYNCEDMEM_TEST_INSIDE", "yes"))
}

fn a_test_that_needs_a_driver_is_skipped_with_its_reason_where_there_is_none() {
    let (status, printed) = outcome_of(|| drop(gpu::gpu()));
    assert_eq!(status, Some(NOTHING_RAN.into()), "{printed}");
    assert!(printed.contains(" 0 passed; 0 failed; 1 ignored;"), "{printed}");
    let name = "a_test_that_needs_a_driver_is_skipped_with_its_reason_where_there_is_none";
    assert!(printed.lines().any(|line| line == format!("skipped: {name}: there is no driver")), "{printed}");
}

fn a_test_that_panics_has_failed() {
    let (status, printed) = outcome_of(|| panic!("as asked"));
    assert_eq!(status, Some(101), "{printed}");
    assert!(printed.contains(" 0 passed; 1 failed; 0 ignored;") && printed.contains("as asked"), "{printed}");
}

fn each_suite_has_a_process_of_its_own() {
    let (status, printed) = run(&["probe_says", "--ignored"], ("HERE", ""));
    assert_eq!(status, Some(0), "{printed}");
    let processes: BTreeSet<_> = printed.split("process=").skip(1).filter_map(|rest| rest.lines().next()).collect();
    assert_eq!(processes.len(), 2, "{printed}");
}

fn a_suite_that_is_named_runs_without_the_others() {
    let (status, printed) = run(&["probe_says", "--ignored"], ("SYNCEDMEM_TEST_SUITES", "none beside"));
    assert_eq!(status, Some(0), "{printed}");
    assert_eq!(printed.matches("process=").count(), 1, "{printed}");
}

fn a_suite_of_which_every_test_is_skipped_is_not_hidden_by_another_that_passes() {
    let (status, printed) = run(&["probe_is_skipped", "--ignored"], ("HERE", ""));
    assert_eq!(status, Some(NOTHING_RAN.into()), "{printed}");
    assert!(printed.contains(" 1 passed; 0 failed; 0 ignored;"), "{printed}");
    assert!(printed.contains("skipped: probe_is_skipped_in_one_suite: as asked"), "{printed}");
}

fn a_suite_that_a_signal_ends_has_failed() {
    let (status, printed) = run(&["probe_ends", "--ignored"], ("SYNCEDMEM_TEST_RUNNER", "env"));
    assert_eq!(status, Some(101), "{printed}");
    assert!(printed.contains("outcomes: ") && printed.contains("signal"), "{printed}");
}

fn probe_says_its_process() {
    println!("process={}", std::process::id());
}

fn probe_is_skipped_in_one_suite() {}

fn probe_ends_by_a_signal() {
    std::process::abort();
}

crate::support::harness::tests![
    a_test_that_needs_a_driver_is_skipped_with_its_reason_where_there_is_none,
    a_test_that_panics_has_failed,
    each_suite_has_a_process_of_its_own,
    a_suite_that_is_named_runs_without_the_others,
    a_suite_of_which_every_test_is_skipped_is_not_hidden_by_another_that_passes,
    a_suite_that_a_signal_ends_has_failed;
    ignored(&[]): probe_says_its_process, probe_is_skipped_in_one_suite, probe_ends_by_a_signal
];
