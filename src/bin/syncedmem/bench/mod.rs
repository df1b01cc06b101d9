use std::process::ExitCode;

use clap::Args;

/// Measure what the library does on this machine.
#[derive(Debug, Args)]
pub struct Options {}

pub fn run(_options: &Options) -> ExitCode {
    crate::say::failed("not there yet")
}
