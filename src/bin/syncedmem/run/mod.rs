use std::process::ExitCode;

use clap::Args;

/// Run a program with the library preloaded, and say what its memory did.
#[derive(Debug, Args)]
pub struct Options {}

pub fn run(_options: &Options) -> ExitCode {
    crate::say::failed("not there yet")
}
