//! How the command speaks when something is wrong.

use std::fmt::Display;
use std::process::ExitCode;

/// It could not be done, or the answer is no.
pub const FAILED: u8 = 1;

/// Says on standard error what is wrong, after the command's name, and what to do about it.
pub fn error(what: impl Display) {
    eprintln!("syncedmem: {what}");
}

/// Says what is wrong, and gives the exit status for it.
pub fn failed(what: impl Display) -> ExitCode {
    error(what);
    ExitCode::from(FAILED)
}
