//! Runs the checks in a child process, each on its own thread, and the rest of them in a new child after one that hangs, crashes or
//! breaks the context. They share a process where they can: a driver takes up to seconds to start.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use crate::checks::{self, Check, Stage};
use crate::driver::*;

pub(crate) struct Options {
    pub(crate) driver: OsString,
    pub(crate) only: String,
    pub(crate) limit: Duration,
}

/// A child's exit status: it printed the line of its last check, and the next ones need a new process.
const GO_ON: i32 = 3;

fn chosen(options: &Options) -> Vec<(Stage, &'static Check)> {
    let only = &options.only;
    checks::all().filter(|(_, check)| check.sentence.contains(only) || check.source.contains(only)).collect()
}

/// Runs the children, and counts the lines that they print: one for each check, in their order.
pub(crate) fn supervise(options: &Options) -> Result<ExitCode, String> {
    let checks = chosen(options);
    if checks.is_empty() {
        return Err(format!("no check has \"{}\" in its name or source", options.only));
    }
    let (mut next, mut counts) = (0, [0; 3]);
    let mut show = |line: &str| {
        let kind = ["ok - ", "not ok - ", "skipped - "].iter().position(|start| line.starts_with(start));
        println!("{line}");
        kind.inspect(|&kind| counts[kind] += 1).is_some()
    };
    loop {
        let mut child = start(next).map_err(|error| format!("the checks cannot be run in another process: {error}"))?;
        for line in
            child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).split(b'\n')).map_while(Result::ok)
        {
            next += usize::from(show(&String::from_utf8_lossy(&line)));
        }
        let status = child.wait().map_err(|error| error.to_string())?;
        match status.code() {
            Some(0) => break,
            Some(GO_ON) => {}
            // The child has reported that there is no driver or device.
            Some(2) if next == 0 => return Ok(ExitCode::from(2)),
            _ => {
                let name = checks.get(next).map_or("the driver's exit", |(_, check)| check.sentence);
                show(&format!("not ok - {name} (expected the process to finish, got {status})"));
                next += 1;
            }
        }
        if next >= checks.len() {
            break;
        }
    }
    let [passed, failed, skipped] = counts;
    println!("conformance: {passed} passed, {failed} failed, {skipped} skipped");
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn start(first: usize) -> std::io::Result<std::process::Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(std::env::args_os().skip(1)).args(["--from", &first.to_string()]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()
}

/// Opens the driver's library.
pub(crate) fn open(options: &Options) -> Result<(), String> {
    let name = options.driver.to_string_lossy();
    load(&options.driver).map_err(|why| format!("there is no driver to check: {name}: {why}"))
}

/// The error says why there is no device to check.
pub(crate) fn initialise() -> Result<(), String> {
    match Verdict::of(|| {
        cuInit(0).ok();
        ensure(value(cuDeviceGetCount) > 0, "a device", "none");
    }) {
        Verdict::Passed => Ok(()),
        Verdict::Failed(why) | Verdict::Skipped(why) | Verdict::Found(why) => {
            Err(format!("there is no device to check: {why}"))
        }
    }
}

/// The child: runs the checks from the `first` on.
pub(crate) fn run(options: &Options, first: usize) -> Result<ExitCode, String> {
    open(options)?;
    // The stages come in this order; the context of the last stays.
    let (mut stage, mut context) = (Stage::BeforeInit, 0);
    for (wanted, check) in chosen(options).into_iter().skip(first) {
        if stage == Stage::BeforeInit && wanted != stage {
            initialise()?;
        }
        if wanted == Stage::Context && context == 0 {
            context = value(|context| cuDevicePrimaryCtxRetain(context, DEVICE));
            let _ = std::thread::spawn(move || Verdict::of(|| checks::warm_up(context))).join();
        }
        stage = wanted;
        let (verdict, is_usable) = judge(check, context, options.limit);
        let (kind, note) = match verdict {
            Verdict::Passed => ("ok", String::new()),
            Verdict::Found(what) => ("ok", format!(" (found: {what})")),
            Verdict::Failed(why) => ("not ok", format!(" ({why}; {})", check.source)),
            Verdict::Skipped(why) => ("skipped", format!(" ({why})")),
        };
        println!("{}", format!("{kind} - {}{note}", check.sentence).replace('\n', " "));
        if !is_usable {
            // Skips the driver's exit handlers, which may wait for the check that hangs.
            leave(GO_ON);
        }
    }
    if context != 0 {
        let _ = cuDevicePrimaryCtxRelease_v2(DEVICE);
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs a check on another thread, so that its context stack ends with it. Returns also whether this process can go on.
fn judge(check: &'static Check, context: Handle, limit: Duration) -> (Verdict, bool) {
    let (done, is_done) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let verdict = Verdict::of(|| {
            if context != 0 {
                cuCtxSetCurrent(context).ok();
            }
            (check.run)(context);
        });
        let after = Verdict::of(|| {
            if context != 0 {
                cuCtxSetCurrent(context).ok();
                cuCtxSynchronize().ok();
            }
        });
        // The receiver is gone after the limit.
        let _ = done.send(match (verdict, after) {
            (Verdict::Failed(why), after) => (Verdict::Failed(why), !matches!(after, Verdict::Failed(_))),
            (_, Verdict::Failed(why)) => (Verdict::Failed(format!("the context is not usable after it: {why}")), false),
            (verdict, _) => (verdict, true),
        });
    });
    match is_done.recv_timeout(limit) {
        Ok(judged) => {
            let _ = thread.join();
            judged
        }
        Err(_) => (Verdict::Failed(format!("expected an end, got none within {} s", limit.as_secs())), false),
    }
}
