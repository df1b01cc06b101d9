//! The `syncedmem` command.
#![deny(unsafe_code)]

mod diff;
mod doctor;
mod export;
mod generate;
mod library;
mod model;
mod options;
mod output;
mod pairs;
mod parts;
mod progress;
mod report;
mod run;
mod say;
mod signals;
mod unfinished;

use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use options::{Command, Options};
use syncedmem_core::text::Escaped;

fn main() -> ExitCode {
    say::end(match Options::try_parse() {
        Ok(Options { command }) => run(command),
        Err(told) if told.use_stderr() => say::usage(&shown(told)),
        Err(told) => say::usage(&told),
    })
}

/// The error with escaped arguments: a shell may have found one as the name of a file.
fn shown(told: clap::Error) -> clap::Error {
    let given = std::env::args_os().map(|given| Escaped(given.as_bytes()).to_string());
    Options::try_parse_from(given).err().unwrap_or(told)
}

fn run(command: Command) -> ExitCode {
    // A program gets its signals as they were.
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
