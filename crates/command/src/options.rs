//! The options of the command.

use clap::{Parser, Subcommand};

use crate::{doctor, generate, report, run};

/// Caffe's memory, seen: run a program on libsyncedmem, check whether it can, and show what its memory did.
#[derive(Debug, Parser)]
#[command(name = "syncedmem", version, after_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true)]
#[command(max_term_width = 100)]
pub struct Options {
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  syncedmem doctor caffe                                can this caffe use the library?
  syncedmem run -- caffe train --solver=solver.prototxt  how much memory, who held it, which copies were unnecessary
  syncedmem run --trace train.json -- caffe train --solver=solver.prototxt
  syncedmem report train.json                           the same, as a page with a timeline

`syncedmem help COMMAND` says more about each command.";

#[derive(Debug, Subcommand)]
pub enum Command {
    Run(Box<run::Options>),
    Doctor(doctor::Options),
    Report(report::Options),
    Completions(generate::Completions),
    Man(generate::Man),
    #[command(hide = true)]
    Share(generate::Share),
}
