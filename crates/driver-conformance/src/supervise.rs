//! Runs the checks in a child process, and in a new one after a check that hangs or crashes. Checks share a process
//! where they can: a driver takes up to seconds to start.

use crate::options::Options;
use crate::run;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

/// Between two checks: a process or a driver starts, or ends.
const BETWEEN: Duration = Duration::from_secs(20);

/// The lines of all processes, counted.
#[derive(Default)]
struct Counts {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Counts {
    fn print(&mut self, line: &str) {
        println!("{line}");
        let count = match line.split(" - ").next() {
            Some("ok") => &mut self.passed,
            Some("not ok") => &mut self.failed,
            Some("skipped") => &mut self.skipped,
            _ => return,
        };
        *count += 1;
    }
}

enum End {
    Itself(ExitStatus),
    /// It printed nothing for so long.
    Hung(Duration),
}

struct Worker {
    child: Child,
    lines: Receiver<String>,
}

impl Worker {
    fn start(first: usize) -> std::io::Result<Worker> {
        let mut command = Command::new(std::env::current_exe()?);
        // The last of two actions counts, and every other option is the same.
        command.args(std::env::args_os().skip(1)).args(["--from", &first.to_string()]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let (sender, lines) = mpsc::channel();
        if let Some(output) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
                    // The receiver is gone once this process was killed.
                    let _ = sender.send(String::from_utf8_lossy(&line).into_owned());
                }
            });
        }
        Ok(Worker { child, lines })
    }

    /// Hands on each line. Returns how the process ended.
    fn follow(mut self, limit: Duration, mut each: impl FnMut(&str)) -> std::io::Result<End> {
        let mut patience = BETWEEN;
        loop {
            match self.lines.recv_timeout(patience) {
                Ok(line) if line == run::BEGINS => patience = limit,
                Ok(line) => {
                    each(&line);
                    patience = BETWEEN;
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.kill();
                    return Ok(End::Hung(patience));
                }
                Err(RecvTimeoutError::Disconnected) => return self.child.wait().map(End::Itself),
            }
        }
    }

    /// Does not wait: a process in the kernel may never end.
    fn kill(&mut self) {
        // It may have ended meanwhile.
        let _ = self.child.kill();
    }
}

pub(crate) fn run(options: &Options) -> ExitCode {
    let names: Vec<&str> = run::chosen(options).map(|(_, check)| check.sentence).collect();
    if names.is_empty() {
        return crate::exit(Err(format!("no check has \"{}\" in its name or source", options.only)));
    }
    let mut counts = Counts::default();
    let mut next = 0;
    while next < names.len() {
        let first = next;
        let each = |line: &str| {
            counts.print(line);
            next += usize::from(names.get(next).is_some_and(|name| is_about(line, name)));
        };
        let end = match Worker::start(first).and_then(|worker| worker.follow(options.limit, each)) {
            Ok(end) => end,
            Err(error) => return crate::exit(Err(format!("the checks cannot be run in another process: {error}"))),
        };
        let got = match end {
            End::Itself(status) if status.code() == Some(2) && first == 0 => return ExitCode::from(2),
            // Done; or a check broke the context, and a new process gets a new one.
            End::Itself(status) if status.code().is_some() && (next > first || next == names.len()) => continue,
            End::Itself(status) => format!("{status}"),
            End::Hung(limit) => format!("no end within {} s", limit.as_secs()),
        };
        let name = names.get(next).copied().unwrap_or("the driver's exit");
        counts.print(&format!("not ok - {name} (expected the process to finish, got {got})"));
        next += 1;
    }
    println!("conformance: {} passed, {} failed, {} skipped", counts.passed, counts.failed, counts.skipped);
    if counts.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn is_about(line: &str, name: &str) -> bool {
    line.split_once(" - ").is_some_and(|(_, rest)| rest == name || rest.starts_with(&format!("{name} (")))
}
