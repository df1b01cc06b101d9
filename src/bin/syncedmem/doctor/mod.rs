use std::process::ExitCode;

use clap::Args;

/// Say whether this machine, a program or a libcaffe can use the library.
#[derive(Debug, Args)]
pub struct Options {}

pub fn run(_options: &Options) -> ExitCode {
    crate::say::failed("not there yet")
}
