//! Runs the checks in this process, each on a thread of its own, and prints a line for each.

use crate::checks::{self, Check, Session, Stage};
use crate::driver::status::{self, Status};
use crate::driver::{calls, table};
use crate::options::Options;
use crate::verdict::{Must, Outcome, Verdict};

/// Printed before a check's own line: from here on its limit counts.
pub(crate) const BEGINS: &str = "";

pub(crate) fn chosen(options: &Options) -> impl Iterator<Item = (Stage, &'static Check)> {
    let only = options.only.clone();
    checks::all().filter(move |(_, check)| check.sentence.contains(&only) || check.source().contains(&only))
}

pub(crate) fn list(options: &Options) {
    for (_, check) in chosen(options) {
        println!("{}\n    {}", check.sentence, check.source());
    }
}

/// Returns whether the check failed.
fn print(check: &Check, outcome: &Outcome) -> bool {
    let sentence = check.sentence;
    let line = match outcome {
        Ok(()) => format!("ok - {sentence}"),
        Err(Verdict::Found(what)) => format!("ok - {sentence} (found: {what})"),
        Err(Verdict::Failed { expected, got }) => {
            format!("not ok - {sentence} (expected {expected}, got {got}; {})", check.source())
        }
        Err(Verdict::Skipped(why)) => format!("skipped - {sentence} ({why})"),
    };
    println!("{}", line.replace('\n', " "));
    matches!(outcome, Err(Verdict::Failed { .. }))
}

pub(crate) fn open(options: &Options) -> Result<(), String> {
    let name = options.driver.to_string_lossy();
    let opened = table::load(&options.driver);
    opened.map_err(|why| format!("there is no driver to check: {name}: {why}"))
}

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

/// Runs the checks from the `first` on. Returns how many failed.
pub(crate) fn run(options: &Options, first: usize) -> Result<usize, String> {
    open(options)?;
    let mut failed = 0;
    // The stages come in this order; the context of one stays for those after it.
    let mut session = Session { device: options.device, context: 0 };
    let mut stage = Stage::BeforeInit;
    for (wanted, check) in chosen(options).skip(first) {
        while stage != wanted {
            stage = enter_next(stage, &mut session)?;
        }
        println!("{BEGINS}");
        failed += usize::from(print(check, &run_one(stage, check, &session)));
        if stage == Stage::Context {
            if let Some(broken) = broken(&session) {
                println!("not ok - the context is usable after: {} (got {})", check.sentence, status::named(broken));
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

/// On a thread of its own, with which its context stack ends.
fn run_one(stage: Stage, check: &'static Check, session: &Session) -> Outcome {
    let session = *session;
    let work = move || match stage {
        Stage::Context => calls::set_current(session.context).must().and_then(|()| (check.run)(&session)),
        Stage::BeforeInit | Stage::Init => (check.run)(&session),
    };
    let Ok(thread) = std::thread::Builder::new().name("check".into()).spawn(work) else {
        return Err(Verdict::skipped("the system gave no thread"));
    };
    thread.join().unwrap_or_else(|_| Err(Verdict::panicked()))
}

/// The status of a call that has nothing to do, unless it is success.
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
