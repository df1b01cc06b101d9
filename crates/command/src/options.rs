use clap::{Parser, Subcommand};

use crate::{diff, doctor, export, generate, model, report, run};

/// Run Caffe programs on libsyncedmem, and show their memory.
#[derive(Debug, Parser)]
#[command(name = "syncedmem", version, after_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true)]
#[command(max_term_width = 100)]
pub struct Options {
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  syncedmem doctor caffe
      can this caffe use the library?
  syncedmem run -- caffe train --solver=solver.prototxt
      how much memory, who held it, what a larger batch costs
  syncedmem run --trace train.trace -- caffe train --solver=solver.prototxt
  syncedmem report train.trace
      the same, as a page with a timeline
  syncedmem export train.trace --to json
      the events, for https://ui.perfetto.dev
  syncedmem diff batch8.trace batch16.trace
      two recordings: what one of them holds or copies more
  syncedmem model inspect lenet.caffemodel
      the layers and shapes of a model, without Caffe

`syncedmem help COMMAND` says more about each command. Only help and errors have colours,
and only on a terminal where NO_COLOR is not set.";

#[derive(Debug, Subcommand)]
pub enum Command {
    Run(Box<run::Options>),
    Doctor(doctor::Options),
    Report(report::Options),
    Export(export::Options),
    Diff(diff::Options),
    Model(model::Options),
    Share(generate::Share),
}
