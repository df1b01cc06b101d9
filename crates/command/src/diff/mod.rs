//! `syncedmem diff`.

pub mod text;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueHint};

use crate::output::is_standard;
use crate::report::{input, read};
use crate::say;

/// Compare the memory of two runs.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  syncedmem diff batch8.trace batch16.trace
      two traces

Each list begins with the largest change. Processes are matched by their programs' names, in the order of their starts.

Exit status: 0 if nothing differs but times and the system's figures, which no two runs share, 1 if something does or a file cannot be read, 2 if \
the command line is wrong.")]
pub struct Options {
    /// The trace of the first run; `-` is standard input.
    #[arg(value_name = "A", value_hint = ValueHint::FilePath)]
    a: PathBuf,
    /// That of the second run.
    #[arg(value_name = "B", value_hint = ValueHint::FilePath)]
    b: PathBuf,
}

pub fn run(options: &Options) -> ExitCode {
    let Options { a, b } = options;
    if is_standard(a) && is_standard(b) {
        return say::failed("both runs cannot come from standard input; name a file for one of them");
    }
    let load = |path: &Path| read::file(path).map_err(|why| format!("{}: {why}", input::name(path)));
    let (of_a, of_b) = match load(a).and_then(|a| Ok((a, load(b)?))) {
        Ok(both) => both,
        Err(why) => return say::failed(why),
    };
    let mut text = String::new();
    let is_same = text::write(&mut text, &of_a, &of_b).unwrap_or(false);
    text.lines().for_each(say::line);
    say::status(is_same)
}
