//! Output of the command. A failure to print is ignored: it must not change the exit status.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use syncedmem_trace::text::is_steering;

/// Exit status: it failed, or the answer is no.
pub const FAILED: u8 = 1;

/// Prints an error on standard error, after the command's name.
pub fn error(what: impl Display) {
    beside(format_args!("syncedmem: {}", one_line(what)));
}

/// Prints a line on standard error.
pub fn beside(line: impl Display) {
    let _ = writeln!(io::stderr(), "{}", plain(line));
}

/// Prints a line on standard output.
pub fn line(line: impl Display) {
    let _ = writeln!(io::stdout(), "{}", plain(one_line(line)));
}

/// One line, even if a name in it has line ends.
fn one_line(text: impl Display) -> String {
    text.to_string().replace('\n', "\\n")
}

/// Escapes steering characters other than line ends, as JSON does: the text may be JSON.
fn plain(text: impl Display) -> String {
    let escaped =
        |c: char| if is_steering(c) && c != '\n' { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    text.to_string().chars().map(escaped).collect()
}

/// Prints an error, and returns the exit status for it.
pub fn failed(what: impl Display) -> ExitCode {
    error(what);
    ExitCode::from(FAILED)
}
