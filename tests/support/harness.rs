//! The harness of the device's suites. As libtest's, but that a test may end as skipped, with its reason, once it runs.
//!
//! A suite lists its tests in `tests![…]` at its end, and Cargo.toml sets `harness = false` for it.

use std::panic::{catch_unwind, resume_unwind};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use libtest_mimic::{Arguments, Completion, Failed, Trial};

/// The exit status of a suite of which every test was skipped.
pub const NOTHING_RAN: u8 = 77;

/// A reason, as the payload of a panic.
struct Skipped(String);

/// Ends the running test as skipped.
pub fn skip(reason: impl Into<String>) -> ! {
    // Unlike `panic!`, it prints nothing.
    resume_unwind(Box::new(Skipped(reason.into())))
}

/// What a suite prints about a test that was skipped.
pub fn skipped_line(test: &str, reason: &str) -> String {
    format!("skipped: {test}: {reason}")
}

/// Makes `main` of the tests that are listed. A function that is missing in the list is dead code, of which the compiler
/// warns.
#[allow(unused_macros, reason = "the suites that libtest runs include this file too")]
macro_rules! tests {
    ($($test:ident),* $(,)?) => {
        fn main() -> std::process::ExitCode {
            let source = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/", file!()));
            $crate::support::harness::run(source, &[$((stringify!($test), $test)),*])
        }

        // Compiled with libtest's harness alone, which does not call `main`.
        #[test]
        fn cargo_toml_says_harness_false_for_this_suite() {
            panic!("add {} to the device suites in Cargo.toml, with `harness = false`", file!());
        }
    };
}
#[allow(unused_imports, reason = "the suites that libtest runs include this file too")]
pub(crate) use tests;

/// Runs the tests that the command line asks for.
pub fn run(source: &str, tests: &[(&'static str, fn())]) -> ExitCode {
    assert!(!source.contains("#[test]"), "#[test] marks a function that never runs here: list it in tests![…]");
    let arguments = Arguments::from_args();
    let in_main_thread = arguments.test_threads == Some(1);
    static SKIPPED: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let trial = |&(name, test): &(&'static str, fn())| {
        Trial::ignorable_test(name, move || {
            // A thread of its own: what a thread keeps, such as its current context, does not reach the next test.
            let result = match in_main_thread {
                true => catch_unwind(test),
                false => std::thread::Builder::new().name(name.to_string()).spawn(test)?.join(),
            };
            let Err(payload) = result else { return Ok(Completion::Completed) };
            let Skipped(reason) = *payload.downcast().unwrap_or_else(|panic| resume_unwind(panic));
            SKIPPED.lock().unwrap_or_else(PoisonError::into_inner).push(skipped_line(name, &reason));
            Ok::<_, Failed>(Completion::ignored_with(reason))
        })
    };
    let conclusion = libtest_mimic::run(&arguments, tests.iter().map(trial).collect());
    // At the end: a test's name and its outcome may share a line.
    for line in SKIPPED.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        println!("{line}");
    }
    match (conclusion.num_passed + conclusion.num_failed, conclusion.num_ignored) {
        (0, 1..) => NOTHING_RAN.into(),
        _ => conclusion.exit_code(),
    }
}
