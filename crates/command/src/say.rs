//! Output. A failure to print must not change the exit status.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use serde::Serialize;
use syncedmem_trace::text::is_steering;

/// Exit status: it failed, or the answer is no.
const FAILED: u8 = 1;

pub fn error(what: impl Display) {
    beside(format_args!("syncedmem: {}", one_line(what)));
}

/// Lines on standard error.
pub fn beside(line: impl Display) {
    let _ = writeln!(io::stderr(), "{}", plain(line));
}

pub fn line(line: impl Display) {
    let _ = writeln!(io::stdout(), "{}", plain(one_line(line)));
}

fn one_line(text: impl Display) -> String {
    text.to_string().replace('\n', "\\n")
}

/// Escapes steering characters other than line ends, as JSON does: the text may be JSON.
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

pub fn json(value: &impl Serialize) {
    // Texts, numbers and lists always become JSON.
    line(serde_json::to_string(value).unwrap_or_default());
}
