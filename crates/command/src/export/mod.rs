//! `syncedmem export`.

mod csv;
mod fields;
mod json;

use std::fmt;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum, ValueHint};
use syncedmem_trace_reader::{ReadError, Reader};

use crate::output::{self, STANDARD, is_standard};
use crate::report::input::{self, Input};
use crate::say;

/// Write a recording in another tool's format: JSON for Perfetto, or CSV in the columns of RMM's log.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  syncedmem export train.trace --to json
      writes train.json, for https://ui.perfetto.dev
  syncedmem export train.trace --to csv -o rows.csv
      the allocations alone, as RMM logs them")]
pub struct Options {
    /// A trace of `syncedmem run --trace` or SYNCEDMEM_TRACE, a folder of such files, or one from gzip; `-` is standard input.
    #[arg(value_hint = ValueHint::FilePath)]
    trace: PathBuf,
    #[arg(long, value_name = "FORMAT")]
    to: Format,
    /// The file to write; `-` is standard output [default: beside the trace].
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Format {
    /// The Trace Event Format of Perfetto and chrome://tracing.
    Json,
    /// The rows of RMM's logging adaptor: allocations and frees.
    Csv,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Read(error) => error.fmt(f),
            Error::Write(error) => f.write_str(&say::reason(error)),
        }
    }
}

impl Format {
    pub fn of(file: &Path) -> Option<Format> {
        [Format::Json, Format::Csv]
            .into_iter()
            .find(|format| file.extension().is_some_and(|end| end == format.extension()))
    }

    pub fn beginning(self) -> &'static [u8] {
        match self {
            Format::Json => b"[\n{\"ph\":\"",
            Format::Csv => csv::COLUMNS.as_bytes(),
        }
    }

    fn extension(self) -> &'static str {
        match self {
            Format::Json => "json",
            Format::Csv => "csv",
        }
    }
}

pub fn run(options: &Options) -> ExitCode {
    let Options { trace, to, output } = options;
    let beside = || if is_standard(trace) { STANDARD.into() } else { trace.with_extension(to.extension()) };
    let output = output.clone().unwrap_or_else(beside);
    let exported = Input::open(trace).and_then(|input| {
        input.note().iter().for_each(|note| say::error(format_args!("{}: {note}", input::name(trace))));
        input.reader()
    });
    match exported.map_err(Error::from).and_then(|reader| file(reader, *to, &output)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Error::Write(error)) => say::not_written(&output, &error),
        Err(Error::Read(error)) => say::failed(format_args!("{}: {error}", input::name(trace))),
    }
}

#[derive(Debug)]
pub enum Error {
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

pub fn file(reader: Reader, format: Format, output: &Path) -> Result<(), Error> {
    output::to(output, |output| write(reader, format, output))
}

fn write(reader: Reader, format: Format, output: impl Write) -> Result<(), Error> {
    let mut output = BufWriter::with_capacity(1 << 18, output);
    match format {
        Format::Json => json::write(reader, &mut output)?,
        Format::Csv => csv::write(reader, &mut output)?,
    }
    Ok(output.flush()?)
}
