//! The harness of the device's suites: a test that was skipped does not count as passed, and one that panicked fails.
#![expect(
    clippy::undocumented_unsafe_blocks,
    clippy::multiple_unsafe_ops_per_block,
    clippy::unwrap_used,
    reason = "a test plays the foreign caller, and answers for what it passes"
)]

mod support;

use std::process::Command;

use support::harness::NOTHING_RAN;
use support::*;

/// Runs `body` as the one test of another process without a driver. Returns its exit status and what it printed.
fn outcome_of<F: FnOnce()>(body: F) -> (Option<i32>, String) {
    if inside() {
        body();
    }
    let test = test_of::<F>();
    let mut process = Command::new(std::env::current_exe().unwrap());
    process.args([&*test, "--exact"]).env("SYNCEDMEM_TEST_INSIDE", &test).env("SYNCEDMEM_TEST_DRIVER", "none");
    let output = process.output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
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

support::harness::tests![
    a_test_that_needs_a_driver_is_skipped_with_its_reason_where_there_is_none,
    a_test_that_panics_has_failed,
];
