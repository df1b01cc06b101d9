//! Runs the checks, each on a thread of its own, and prints what they come to.

use crate::checks::{self, Check, Session, Stage};
use crate::driver::status::{self, Status};
use crate::driver::{calls, table};
use crate::leave;
use crate::options::Options;
use crate::verdict::{Must, Outcome, Verdict};
use std::sync::mpsc;
use std::time::Duration;

/// A check that takes longer hangs in the driver, and everything after it would too.
const LIMIT: Duration = Duration::from_secs(30);

fn chosen(options: &Options) -> impl Iterator<Item = &'static Check> {
    let only = options.only.clone();
    checks::all().filter(move |check| check.sentence().contains(&only) || check.source.contains(&only))
}

pub(crate) fn list(options: &Options) {
    for check in chosen(options) {
        println!("{}\n    {}", check.sentence(), check.source);
    }
}

#[derive(Default)]
struct Counts {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Counts {
    fn add(&mut self, check: &Check, outcome: &Outcome) {
        let sentence = check.sentence();
        match outcome {
            Ok(()) => {
                self.passed += 1;
                println!("ok - {sentence}");
            }
            Err(Verdict::Found(what)) => {
                self.passed += 1;
                println!("ok - {sentence} (found: {what})");
            }
            Err(Verdict::Failed { expected, got }) => {
                self.failed += 1;
                println!("not ok - {sentence} (expected {expected}, got {got}; {})", check.source);
            }
            Err(Verdict::Skipped(why)) => {
                self.skipped += 1;
                println!("skipped - {sentence} ({why})");
            }
        }
    }

    fn close(&self) {
        println!("conformance: {} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped);
    }
}

/// Opens the driver, or says why there is none.
pub(crate) fn open(options: &Options) -> Result<(), String> {
    let name = options.driver.to_string_lossy();
    let opened = table::load(&options.driver);
    opened.map_err(|why| format!("there is no driver to check: {name}: {why}"))
}

/// Initializes the driver, or says why there is no such device.
pub(crate) fn initialize(device: i32) -> Result<(), String> {
    calls::init(0).must().map_err(|verdict| no_device("cuInit", verdict))?;
    let count = calls::device_count().must().map_err(|verdict| no_device("cuDeviceGetCount", verdict))?;
    if !(0..count).contains(&device) {
        return Err(format!("there is no device {device}: the driver counts {count}"));
    }
    Ok(())
}

fn no_device(call: &str, verdict: Verdict) -> String {
    match verdict {
        Verdict::Failed { got, .. } => format!("there is no device to check: {call} returned {got}"),
        Verdict::Skipped(why) | Verdict::Found(why) => format!("there is no device to check: {why}"),
    }
}

/// Returns the number of checks that failed, or why there is nothing to check.
pub(crate) fn run(options: &Options) -> Result<usize, String> {
    open(options)?;
    if chosen(options).next().is_none() {
        return Err(format!("no check has \"{}\" in its name or source", options.only));
    }
    let mut counts = Counts::default();
    // The stages come in this order, and what one needs stays for those after it.
    let mut session = Session { device: options.device, context: 0 };
    let mut stage = Stage::BeforeInit;
    for check in chosen(options) {
        while stage != check.stage {
            stage = enter_next(stage, &mut session)?;
        }
        let outcome = run_one(check, &session);
        counts.add(check, &outcome);
        if let Err(Verdict::Failed { expected, .. }) = &outcome {
            if expected == checks::FINISHES {
                println!("the checks after it were not run");
                counts.close();
                leave::at_once(1);
            }
        }
        if stage == Stage::Context {
            if let Some(broken) = broken(&session) {
                counts.failed += 1;
                println!("not ok - the context is usable after: {} (got {})", check.sentence(), status::named(broken));
                println!("the checks after it were not run");
                break;
            }
        }
    }
    if session.context != 0 {
        let _ = calls::primary_release(session.device);
    }
    counts.close();
    Ok(counts.failed)
}

fn enter_next(stage: Stage, session: &mut Session) -> Result<Stage, String> {
    match stage {
        Stage::BeforeInit => {
            initialize(session.device)?;
            Ok(Stage::Init)
        }
        Stage::Init | Stage::Context => {
            let context = calls::primary_retain(session.device).must();
            session.context = context.map_err(|verdict| no_device("cuDevicePrimaryCtxRetain", verdict))?;
            checks::warm_up(session);
            Ok(Stage::Context)
        }
    }
}

/// On a thread of its own: what a check leaves in its thread's context stack is gone with it.
fn run_one(check: &'static Check, session: &Session) -> Outcome {
    let (sender, receiver) = mpsc::channel();
    let session = *session;
    let work = move || {
        let outcome = match check.stage {
            Stage::Context => calls::set_current(session.context).must().and_then(|()| (check.run)(&session)),
            Stage::BeforeInit | Stage::Init => (check.run)(&session),
        };
        // Nobody listens any more once the limit is reached.
        let _ = sender.send(outcome);
    };
    let thread = std::thread::Builder::new().name("check".into()).spawn(work);
    let Ok(thread) = thread else { return Err(Verdict::skipped("the system gave no thread")) };
    match receiver.recv_timeout(LIMIT) {
        Ok(outcome) => {
            let _ = thread.join();
            outcome
        }
        Err(mpsc::RecvTimeoutError::Timeout) => {
            let got = format!("no end after {} s", LIMIT.as_secs());
            Err(Verdict::Failed { expected: checks::FINISHES.into(), got })
        }
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            let _ = thread.join();
            Err(Verdict::panicked())
        }
    }
}

/// The status that the session's context gives to a call that has nothing to do, if it is not success.
fn broken(session: &Session) -> Option<Status> {
    let context = session.context;
    let probe = move || {
        let set = calls::set_current(context).map_or(status::SUCCESS, |reply| reply.status);
        let synchronized = calls::synchronize().map_or(status::SUCCESS, |reply| reply.status);
        if set == status::SUCCESS { synchronized } else { set }
    };
    match std::thread::spawn(probe).join() {
        Ok(status::SUCCESS) | Err(_) => None,
        Ok(status) => Some(status),
    }
}
