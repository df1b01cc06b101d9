//! The harness of the rooms: each suite runs in a process of its own, so that no suite meets the settings, statics and idle
//! blocks of another; and a test may end as skipped, with its reason, which libtest cannot do.
//!
//! A suite is a module that lists its tests in `tests![…]` at its end: first those that share the suite's process, then, behind
//! `alone(&[…]):`, `alone_with_driver(&[…]):` or `in_silence(&[…]):`, those that each run in one of their own with that environment;
//! those behind `ignored(&[]):` run where `--ignored` asks for them. A room's `main.rs` lists its suites in `suites![…]`, and Cargo.toml
//! says `harness = false` for the room.
//!
//! `SYNCEDMEM_TEST_SUITES` names the suites to run, separated by spaces; without it all run. `SYNCEDMEM_TEST_RUNNER` is a
//! command that the processes of the suites run under, such as valgrind.

use std::cell::RefCell;
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

/// What `tests![…]` makes of a module.
pub struct Suite {
    /// With the name of the room, which is that of the crate.
    pub path: &'static str,
    pub source: &'static str,
    pub groups: &'static [Group],
}

pub struct Group {
    pub place: Place,
    pub tests: &'static [(&'static str, fn())],
}

type Variables = &'static [(&'static str, &'static str)];

/// Where a test runs.
#[derive(Clone, Copy)]
pub enum Place {
    /// In the suite's process.
    Here,
    /// There, where `--ignored` asks for it.
    Ignored,
    /// In a process of its own.
    Alone(Variables),
    /// As `Alone`, with the driver of this process.
    WithDriver(Variables),
    /// As `WithDriver`, and nothing is said on standard error.
    InSilence(Variables),
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

pub const fn ignored(_: Variables) -> Place {
    Place::Ignored
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

/// Makes a suite of the tests that are listed. The compiler warns of a function that is missing in the list: it is dead code.
#[allow(unused_macros, reason = "the rooms that libtest runs include this file too")]
macro_rules! tests {
    ($($how:ident($environment:expr): $($apart:ident),+ $(,)?);+) => {
        $crate::support::harness::tests! { @ $($how($environment) => $($apart),+);+ }
    };
    ($($test:ident),+ $(,)? $(; $how:ident($environment:expr): $($apart:ident),+ $(,)?)*) => {
        $crate::support::harness::tests! { @ Place::Here => $($test),+ $(; $how($environment) => $($apart),+)* }
    };
    (@ $($place:expr => $($test:ident),*);+) => {
        pub const SUITE: $crate::support::harness::Suite = {
            #[allow(unused_imports, reason = "most suites have tests of one kind")]
            use $crate::support::harness::{Group, Place, Suite, alone, alone_with_driver, ignored, in_silence};
            Suite {
                path: module_path!(),
                source: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/", file!())),
                groups: &[$(Group { place: $place, tests: &[$((stringify!($test), $test)),*] }),+],
            }
        };
    };
}
#[allow(unused_imports, reason = "the rooms that libtest runs include this file too")]
pub(crate) use tests;

/// Makes `main` of the suites that are listed.
#[allow(unused_macros, reason = "the rooms that libtest runs include this file too")]
macro_rules! suites {
    ($($($module:ident)::+),* $(,)?) => {
        fn main() -> std::process::ExitCode {
            $crate::support::harness::run(&[$($($module::)+SUITE),*])
        }

        // Compiled with libtest's harness alone, which does not call `main`.
        #[test]
        fn cargo_toml_says_harness_false_for_this_room() {
            panic!("say `harness = false` for {} in Cargo.toml", file!());
        }
    };
}
#[allow(unused_imports, reason = "the rooms that libtest runs include this file too")]
pub(crate) use suites;

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

impl Suite {
    fn name(&self) -> &'static str {
        self.path.split_once("::").map_or(self.path, |(_room, suite)| suite)
    }

    fn trials(&self, in_main_thread: bool) -> Vec<Trial> {
        let trial = |place: Place, &(test, function): &(&str, fn())| {
            let name = format!("{}::{test}", self.name());
            let run = {
                let name = name.clone();
                move || run_test(name, place, function, in_main_thread)
            };
            Trial::ignorable_test(name, run).with_ignored_flag(matches!(place, Place::Ignored))
        };
        self.groups.iter().flat_map(|group| group.tests.iter().map(move |test| trial(group.place, test))).collect()
    }

    /// Whether the command line and the environment choose a test of it.
    fn is_chosen(&self, arguments: &Arguments) -> bool {
        let is_left_out = std::env::var(SUITES).is_ok_and(|names| !names.split(' ').any(|name| name == self.name()));
        let chooses = |(test, _): &(&str, fn())| {
            let name = format!("{}::{test}", self.name());
            let fits = |filter: &String| if arguments.exact { name == *filter } else { name.contains(filter) };
            arguments.filter.as_ref().is_none_or(fits) && !arguments.skip.iter().any(fits)
        };
        !is_left_out && self.groups.iter().flat_map(|group| group.tests).any(chooses)
    }

    /// Runs it in a process of its own, and returns that one's exit status.
    fn run_apart(&self) -> u8 {
        let program = std::env::current_exe().unwrap();
        let runner = std::env::var(RUNNER).unwrap_or_default();
        let mut words = runner.split_whitespace().map(OsStr::new).chain([program.as_os_str()]);
        let mut process = Command::new(words.next().unwrap());
        process.args(words).args(std::env::args_os().skip(1)).env(SUITES, self.name()).env_remove(RUNNER);
        println!("\n{}", self.path);
        let status = process.status().unwrap();
        if status.code().is_none() {
            println!("{}: {status}", self.path);
        }
        status.code().and_then(|code| code.try_into().ok()).unwrap_or(FAILED)
    }
}

static SKIPPED: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn run_test(name: String, place: Place, test: fn(), in_main_thread: bool) -> Result<Completion, Failed> {
    let running = name.clone();
    let test = move || {
        RUNNING.set(running);
        place.run(test);
    };
    // A thread of its own: what a thread keeps, such as its current context, does not reach the next test.
    let result = match in_main_thread {
        true => catch_unwind(test),
        false => std::thread::Builder::new().name(name.clone()).spawn(test)?.join(),
    };
    let Err(payload) = result else { return Ok(Completion::Completed) };
    let Skipped(reason) = *payload.downcast().unwrap_or_else(|panic| resume_unwind(panic));
    SKIPPED.lock().unwrap_or_else(PoisonError::into_inner).push(skipped_line(&name, &reason));
    Ok(Completion::ignored_with(reason))
}

/// Runs the tests that the command line asks for: those of one suite in this process, those of several in one for each.
pub fn run(suites: &[Suite]) -> ExitCode {
    for Suite { path, source, .. } in suites {
        assert!(!source.contains("#[test]"), "{path}: #[test] marks a function that never runs: list it in tests![…]");
    }
    let arguments = Arguments::from_args();
    let chosen: Vec<_> = suites.iter().filter(|suite| suite.is_chosen(&arguments)).collect();
    if !arguments.list && (chosen.len() > 1 || std::env::var_os(RUNNER).is_some()) {
        return chosen.iter().map(|suite| suite.run_apart()).max().unwrap_or(0).into();
    }
    let in_main_thread = arguments.test_threads == Some(1);
    let trials = chosen.iter().flat_map(|suite| suite.trials(in_main_thread)).collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    // At the end: a test's name and its outcome may share a line.
    let skipped = SKIPPED.lock().unwrap_or_else(PoisonError::into_inner);
    skipped.iter().for_each(|line| println!("{line}"));
    match conclusion.num_passed + conclusion.num_failed {
        0 if !skipped.is_empty() => NOTHING_RAN.into(),
        _ => conclusion.exit_code(),
    }
}
