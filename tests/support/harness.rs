//! The harness of the rooms of tests: each suite (a module) runs in its own process, so that no suite meets the settings, statics and idle
//! blocks of another; and a test may end as skipped, with its reason, which libtest cannot do.
//!
//! `#[test]` registers a function. `#[test(alone)]`, `#[test(alone_with_driver)]` and `#[test(in_silence)]` run it in its own process, with the
//! environment that follows: `#[test(alone, ("SYNCEDMEM_PIN", "never"))]`. `#[test(ignored)]` runs only with `--ignored`. Cargo.toml says
//! `harness = false` for a room, and its `main.rs` takes the attribute by `#[macro_use] extern crate test_attribute`.
//!
//! `SYNCEDMEM_TEST_SUITES` names the suites to run, separated by spaces; without it all run. `SYNCEDMEM_TEST_RUNNER` is a
//! command that the processes of the suites run under, such as valgrind.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::panic::{catch_unwind, resume_unwind};
use std::process::{Command, ExitCode};
use std::sync::{Mutex, PoisonError};

use libtest_mimic::{Arguments, Completion, Failed, Trial};

/// The exit status where every test of a suite was skipped.
pub const NOTHING_RAN: u8 = 77;
/// The exit status where a test failed, as libtest has it.
const FAILED: u8 = 101;
const SUITES: &str = "SYNCEDMEM_TEST_SUITES";
const RUNNER: &str = "SYNCEDMEM_TEST_RUNNER";

/// What `#[test]` registers.
pub struct Test {
    /// The path of its module, which begins with the name of the room: that of the crate.
    pub module: &'static str,
    pub line: u32,
    pub name: &'static str,
    pub place: Place,
    pub run: fn(),
}

inventory::collect!(Test);

type Variables = &'static [(&'static str, &'static str)];

/// Where a test runs.
#[derive(Clone, Copy)]
pub enum Place {
    /// In the suite's process.
    Here,
    /// In the suite's process, if `--ignored` asks for it.
    Ignored,
    /// In its own process.
    Alone(Variables),
    /// In its own process, with the driver of this process.
    WithDriver(Variables),
    /// Like `WithDriver`, and the process writes nothing to standard error.
    InSilence(Variables),
}

pub const fn here(_: Variables) -> Place {
    Place::Here
}

pub const fn ignored(_: Variables) -> Place {
    Place::Ignored
}

pub const fn alone(environment: Variables) -> Place {
    Place::Alone(environment)
}

pub const fn alone_with_driver(environment: Variables) -> Place {
    Place::WithDriver(environment)
}

pub const fn in_silence(environment: Variables) -> Place {
    Place::InSilence(environment)
}

/// A reason, as the payload of a panic.
struct Skipped(String);

pub fn skip(reason: impl Into<String>) -> ! {
    // Unlike `panic!`, it prints nothing.
    resume_unwind(Box::new(Skipped(reason.into())))
}

/// The line that a suite prints about a skipped test.
pub fn skipped_line(test: &str, reason: &str) -> String {
    format!("skipped: {}: {reason}", test.rsplit("::").next().unwrap_or(test))
}

thread_local!(static RUNNING: RefCell<String> = const { RefCell::new(String::new()) });

/// The name of the test that runs on this thread: `SUITE::TEST`.
pub fn running() -> String {
    RUNNING.with_borrow(String::clone)
}

impl Place {
    fn run(self, test: fn()) {
        match self {
            Place::Here | Place::Ignored => test(),
            Place::Alone(environment) => drop(super::alone(environment, test)),
            Place::WithDriver(environment) => drop(super::in_a_process_with_a_driver(environment, test)),
            Place::InSilence(environment) => assert_eq!(super::in_a_process_with_a_driver(environment, test), ""),
        }
    }
}

impl Test {
    fn suite(&self) -> &'static str {
        self.module.split_once("::").map_or(self.module, |(_room, suite)| suite)
    }

    fn full_name(&self) -> String {
        format!("{}::{}", self.suite(), self.name)
    }

    /// Whether the command line and the environment choose it.
    fn is_chosen(&self, arguments: &Arguments) -> bool {
        let name = self.full_name();
        let fits = |filter: &String| if arguments.exact { name == *filter } else { name.contains(filter) };
        std::env::var(SUITES).map_or(true, |suites| suites.split(' ').any(|suite| suite == self.suite()))
            && arguments.filter.as_ref().is_none_or(fits)
            && !arguments.skip.iter().any(fits)
    }

    fn trial(&'static self, in_main_thread: bool) -> Trial {
        Trial::ignorable_test(self.full_name(), move || run_test(self, in_main_thread))
            .with_ignored_flag(matches!(self.place, Place::Ignored))
    }
}

/// Runs a suite in its own process, and returns the exit status.
fn run_suite(suite: &str) -> u8 {
    let program = std::env::current_exe().unwrap();
    let runner = std::env::var(RUNNER).unwrap_or_default();
    let mut words = runner.split_whitespace().map(OsStr::new).chain([program.as_os_str()]);
    let mut process = Command::new(words.next().unwrap());
    process.args(words).args(std::env::args_os().skip(1)).env(SUITES, suite).env_remove(RUNNER);
    println!("\n{suite}");
    let status = process.status().unwrap();
    if status.code().is_none() {
        println!("{suite}: {status}");
    }
    status.code().and_then(|code| code.try_into().ok()).unwrap_or(FAILED)
}

static SKIPPED: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn run_test(test: &'static Test, in_main_thread: bool) -> Result<Completion, Failed> {
    let name = test.full_name();
    let run = || {
        RUNNING.set(test.full_name());
        test.place.run(test.run);
    };
    // Each test has a new thread: what a thread keeps, such as its current context, does not reach the next test.
    let result = match in_main_thread {
        true => catch_unwind(run),
        false => std::thread::Builder::new().name(name.clone()).spawn(run)?.join(),
    };
    let Err(payload) = result else { return Ok(Completion::Completed) };
    let Skipped(reason) = *payload.downcast().unwrap_or_else(|panic| resume_unwind(panic));
    SKIPPED.lock().unwrap_or_else(PoisonError::into_inner).push(skipped_line(&name, &reason));
    Ok(Completion::ignored_with(reason))
}

/// Runs the tests that the command line asks for: those of one suite in this process, those of several suites in one process each.
pub fn run() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut tests: Vec<_> = inventory::iter::<Test>.into_iter().filter(|test| test.is_chosen(&arguments)).collect();
    tests.sort_by_key(|test| (test.suite(), test.line));
    let suites: BTreeSet<_> = tests.iter().map(|test| test.suite()).collect();
    if !arguments.list && (suites.len() > 1 || std::env::var_os(RUNNER).is_some()) {
        return suites.into_iter().map(run_suite).max().unwrap_or(0).into();
    }
    let in_main_thread = arguments.test_threads == Some(1);
    let trials = tests.into_iter().map(|test| test.trial(in_main_thread)).collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    // At the end: a test's name and its outcome may share a line.
    let skipped = SKIPPED.lock().unwrap_or_else(PoisonError::into_inner);
    skipped.iter().for_each(|line| println!("{line}"));
    match conclusion.num_passed + conclusion.num_failed {
        0 if !skipped.is_empty() => NOTHING_RAN.into(),
        _ => conclusion.exit_code(),
    }
}
