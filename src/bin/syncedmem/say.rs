//! How the command speaks: that nobody listens is no reason to fail, nor to end with another status than the program's.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

/// It could not be done, or the answer is no.
pub const FAILED: u8 = 1;

/// Says on standard error what is wrong, after the command's name, and what to do about it.
pub fn error(what: impl Display) {
    // One line, whatever the names in it hold.
    beside(format_args!("syncedmem: {}", what.to_string().replace('\n', "\\n")));
}

/// Says a line on standard error.
pub fn beside(line: impl Display) {
    let _ = writeln!(io::stderr(), "{}", plain(line));
}

/// Says a line on standard output.
pub fn line(line: impl Display) {
    let _ = writeln!(io::stdout(), "{}", plain(line));
}

/// Text without control characters but the ends of its lines: names of files and what is in them steer no terminal.
fn plain(text: impl Display) -> String {
    let escaped = |c: char| if c.is_control() && c != '\n' { c.escape_default().to_string() } else { c.to_string() };
    text.to_string().chars().map(escaped).collect()
}

/// Says what is wrong, and gives the exit status for it.
pub fn failed(what: impl Display) -> ExitCode {
    error(what);
    ExitCode::from(FAILED)
}
