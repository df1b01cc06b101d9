//! Output. Everything for standard output goes through [`Output`]; if that cannot be written, the command fails. Errors of
//! standard error are ignored.

use std::fmt::Display;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use syncedmem_core::text::is_steering;

/// Exit status if the command failed, or the answer is no.
const FAILED: u8 = 1;

/// The first error of standard output.
static TROUBLE: OnceLock<io::Error> = OnceLock::new();

/// Standard output, whose first error is kept for [`end`].
pub struct Output;

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        kept(io::stdout().write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        kept(io::stdout().flush())
    }
}

fn kept<T>(written: io::Result<T>) -> io::Result<T> {
    written.map_err(|error| {
        let kind = error.kind();
        if kind != io::ErrorKind::Interrupted {
            TROUBLE.get_or_init(|| error);
        }
        kind.into()
    })
}

pub fn is_output_in_trouble() -> bool {
    TROUBLE.get().is_some()
}

/// Prints the help, the version, or what is wrong with the command line.
pub fn usage(answer: &clap::Error) -> ExitCode {
    let printed = answer.print();
    if answer.use_stderr() {
        return ExitCode::from(answer.exit_code() as u8);
    }
    let _ = kept(printed);
    ExitCode::SUCCESS
}

/// Flushes standard output and returns the exit status. A reader that has closed the pipe wants no more: that is not a failure.
pub fn end(status: ExitCode) -> ExitCode {
    let _ = Output.flush();
    match TROUBLE.get() {
        Some(error) if error.kind() != io::ErrorKind::BrokenPipe => failed(format_args!(
            "standard output cannot be written: {}; make room, or direct it elsewhere",
            reason(error)
        )),
        _ => status,
    }
}

pub fn not_written(output: &Path, error: &io::Error) -> ExitCode {
    let (output, reason) = (output.display(), reason(error));
    failed(format_args!("{output} cannot be written: {reason}; make room, or name another file with --output"))
}

/// Why a file cannot be written.
pub fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::FileTooLarge => "the process may make no longer file (ulimit -f)".to_string(),
        _ => error.to_string(),
    }
}

pub fn error(what: impl Display) {
    beside(format_args!("syncedmem: {}", one_line(what)));
}

/// Writes lines to standard error.
pub fn beside(line: impl Display) {
    let _ = writeln!(io::stderr(), "{}", plain(line));
}

pub fn line(line: impl Display) {
    let _ = writeln!(Output, "{}", plain(one_line(line)));
}

fn one_line(text: impl Display) -> String {
    text.to_string().replace('\n', "\\n")
}

/// Escapes control characters other than line ends, as JSON does: the text may be JSON.
pub fn plain(text: impl Display) -> String {
    let text = text.to_string();
    let steers = |c: char| is_steering(c) && c != '\n';
    if !text.contains(steers) {
        return text;
    }
    let escaped = |c: char| if steers(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    text.chars().map(escaped).collect()
}

pub fn failed(what: impl Display) -> ExitCode {
    error(what);
    status(false)
}

pub fn status(is_good: bool) -> ExitCode {
    if is_good { ExitCode::SUCCESS } else { ExitCode::from(FAILED) }
}

/// Writes a value as a line of JSON, while it is serialized.
pub fn json(value: &impl Serialize) {
    let mut output = BufWriter::new(Output);
    // Texts, numbers and lists always become JSON, and `Output` keeps its error.
    let _ = value.serialize(&mut Serializer::with_formatter(&mut output, Escaping));
    let _ = output.write_all(b"\n").and_then(|()| output.flush());
}

struct Escaping;

impl Formatter for Escaping {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, to: &mut W, part: &str) -> io::Result<()> {
        to.write_all(plain(part).as_bytes())
    }
}
