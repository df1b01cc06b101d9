//! Runs the checks in this process, each on a thread of its own, and prints a line for each.

use crate::checks::{self, Check, Session, Stage};
use crate::driver::status::{self, Status};
use crate::driver::{calls, table};
use crate::options::Options;
use crate::verdict::{Must, Outcome, Verdict};

/// The line before each check's own: from here on the check has to end within its limit.
pub(crate) const BEGINS: &str = "";

pub(crate) fn chosen(options: &Options) -> impl Iterator<Item = &'static Check> {
    let only = options.only.clone();
    checks::all().filter(move |check| check.sentence().contains(&only) || check.source.contains(&only))
}

pub(crate) fn list(options: &Options) {
    for check in chosen(options) {
        println!("{}\n    {}", check.sentence(), check.source);
    }
}

/// Prints the check's line; `supervise` counts them. Returns whether it failed.
fn print(check: &Check, outcome: &Outcome) -> bool {
    let sentence = check.sentence();
    let line = match outcome {
        Ok(()) => format!("ok - {sentence}"),
        Err(Verdict::Found(what)) => format!("ok - {sentence} (found: {what})"),
        Err(Verdict::Failed { expected, got }) => {
            format!("not ok - {sentence} (expected {expected}, got {got}; {})", check.source)
        }
        Err(Verdict::Skipped(why)) => format!("skipped - {sentence} ({why})"),
    };
    println!("{}", line.replace('\n', " "));
    matches!(outcome, Err(Verdict::Failed { .. }))
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

/// Runs the checks from the `first` on. Returns the number of those that failed, or why there is nothing to check.
pub(crate) fn run(options: &Options, first: usize) -> Result<usize, String> {
    open(options)?;
    let mut failed = 0;
    // The stages come in this order, and what one needs stays for those after it.
    let mut session = Session { device: options.device, context: 0 };
    let mut stage = Stage::BeforeInit;
    for check in chosen(options).skip(first) {
        while stage != check.stage {
            stage = enter_next(stage, &mut session)?;
        }
        println!("{BEGINS}");
        failed += usize::from(print(check, &run_one(check, &session)));
        if stage == Stage::Context {
            if let Some(broken) = broken(&session) {
                println!("not ok - the context is usable after: {} (got {})", check.sentence(), status::named(broken));
                // Nothing else can be checked in this process.
                return Ok(failed + 1);
            }
        }
    }
    if session.context != 0 {
        let _ = calls::primary_release(session.device);
    }
    Ok(failed)
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
    let session = *session;
    let work = move || match check.stage {
        Stage::Context => calls::set_current(session.context).must().and_then(|()| (check.run)(&session)),
        Stage::BeforeInit | Stage::Init => (check.run)(&session),
    };
    let Ok(thread) = std::thread::Builder::new().name("check".into()).spawn(work) else {
        return Err(Verdict::skipped("the system gave no thread"));
    };
    thread.join().unwrap_or_else(|_| Err(Verdict::panicked()))
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
