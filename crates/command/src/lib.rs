//! The `syncedmem` command, which has no other interface than its command line.
#![deny(unsafe_code)]

mod diff;
mod doctor;
mod export;
mod generate;
mod library;
mod model;
mod output;
mod pairs;
mod parts;
mod report;
mod run;
mod say;
mod signals;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use syncedmem_core::text::Escaped;

/// Run Caffe programs on libsyncedmem, and show their memory.
#[derive(Debug, Parser)]
#[command(name = "syncedmem", version, after_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true)]
#[command(max_term_width = 100)]
struct Options {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  syncedmem doctor caffe
      can this caffe use the library?
  syncedmem run -- caffe train --solver=solver.prototxt
      how much memory, who held it, what a larger batch costs
  syncedmem run --trace train.trace -- caffe train --solver=solver.prototxt
  syncedmem report train.trace
      the same as an HTML report, with a timeline
  syncedmem export train.trace --to json
      the events, for https://ui.perfetto.dev
  syncedmem diff batch8.trace batch16.trace
      two recordings: what one of them holds or copies more
  syncedmem model inspect lenet.caffemodel
      the layers and shapes of a model, without Caffe

`syncedmem help COMMAND` says more about each command. Only help and errors have colours,
and only on a terminal where NO_COLOR is not set.";

#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<run::Options>),
    Doctor(doctor::Options),
    Report(report::Options),
    Export(export::Options),
    Diff(diff::Options),
    Model(model::Options),
    Share(generate::Share),
}

/// Runs the command line, as the program does, and returns its exit status. For the program and for fuzz targets.
pub fn run(arguments: &[OsString]) -> ExitCode {
    say::end(match Options::try_parse_from(arguments) {
        Ok(Options { command }) => execute(command),
        Err(error) if error.use_stderr() => say::usage(&escaped(error, arguments)),
        Err(error) => say::usage(&error),
    })
}

/// The error with escaped arguments: an argument may be the name of a file that a shell found.
fn escaped(error: clap::Error, arguments: &[OsString]) -> clap::Error {
    let escaped = arguments.iter().map(|argument| Escaped(argument.as_bytes()).to_string());
    Options::try_parse_from(escaped).err().unwrap_or(error)
}

fn execute(command: Command) -> ExitCode {
    // `run` changes no signal for the program.
    if !matches!(command, Command::Run(_)) {
        signals::ignore_size_limit();
    }
    match command {
        Command::Run(options) => run::run(&options),
        Command::Doctor(options) => doctor::run(&options),
        Command::Report(options) => report::run(&options),
        Command::Export(options) => export::run(&options),
        Command::Diff(options) => diff::run(&options),
        Command::Model(options) => model::run(&options),
        Command::Share(options) => generate::share(&options, Options::command()),
    }
}
