//! `syncedmem export`.

mod fields;
mod json;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueHint};
use syncedmem_trace_reader::{ReadError, Reader};

use crate::output::{self, STANDARD, is_standard};
use crate::report::input::{self, Input};
use crate::say;

/// Write a recording as JSON, for Perfetto.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  syncedmem export train.trace --to json
      writes train.json, for https://ui.perfetto.dev")]
pub struct Options {
    /// A trace of `syncedmem run --trace` or SYNCEDMEM_TRACE, a folder of such files, or one from gzip; `-` is standard input.
    #[arg(value_hint = ValueHint::FilePath)]
    trace: PathBuf,
    /// The Trace Event Format of Perfetto and chrome://tracing.
    #[arg(long = "to", value_name = "FORMAT", value_parser = ["json"], default_value = "json")]
    _format: String,
    /// The file to write; `-` is standard output [default: beside the trace].
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
}

pub fn run(options: &Options) -> ExitCode {
    let Options { trace, output, .. } = options;
    let beside = || if is_standard(trace) { STANDARD.into() } else { trace.with_extension("json") };
    let output = output.clone().unwrap_or_else(beside);
    let exported = Input::open(trace).and_then(|input| {
        input.note().iter().for_each(|note| say::error(format_args!("{}: {note}", input::name(trace))));
        input.reader()
    });
    match exported.map_err(Error::from).and_then(|reader| file(reader, &output)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Error::Write(error)) => say::not_written(&output, &error),
        Err(Error::Read(error)) => say::failed(format_args!("{}: {error}", input::name(trace))),
    }
}

#[derive(Debug)]
enum Error {
    Read(ReadError),
    Write(io::Error),
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::Write(error)
    }
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Error {
        Error::Read(error)
    }
}

fn file(reader: Reader, output: &Path) -> Result<(), Error> {
    output::to(output, |output| {
        let mut output = BufWriter::with_capacity(1 << 18, output);
        json::write(reader, &mut output)?;
        Ok(output.flush()?)
    })
}
