//! `syncedmem model`.

mod arrays;
mod check;
mod diff;
mod export;
mod given;
mod import;
mod inspect;
mod types;
mod values;

use std::process::ExitCode;

use clap::{Args, Subcommand};

/// Show, check, compare, convert or change a .caffemodel, .binaryproto or .solverstate, without Caffe; read Caffe2's init_net.pb.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  syncedmem model inspect lenet.caffemodel
  syncedmem model check *.caffemodel
  syncedmem model export lenet.caffemodel --to safetensors
  syncedmem model import lenet.safetensors --from safetensors \\
    --like lenet.caffemodel -o changed.caffemodel
  syncedmem model diff before.caffemodel after.caffemodel")]
pub struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Inspect(inspect::Options),
    Check(check::Options),
    Export(export::Options),
    Import(import::Options),
    Diff(diff::Options),
}

pub fn run(options: &Options) -> ExitCode {
    match &options.command {
        Command::Inspect(options) => inspect::run(options),
        Command::Check(options) => check::run(options),
        Command::Export(options) => export::run(options),
        Command::Import(options) => import::run(options),
        Command::Diff(options) => diff::run(options),
    }
}
