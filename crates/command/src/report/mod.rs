//! `syncedmem report`.

pub mod about;
mod arena;
pub mod batch;
mod document;
pub mod facts;
mod functions;
mod gather;
mod in_place;
pub mod input;
mod layers;
mod page;
pub mod read;
mod rows;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod screen_tests;
mod sentences;
mod sharing;
#[cfg(test)]
mod tests;
pub mod text;
mod timeline;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueHint};
use facts::Trace;
use input::is_same;

use crate::output::{self, STANDARD, is_standard};
use crate::say;

/// Show a trace as an HTML report, as text or as JSON: who held memory and when, and what is worth doing.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  syncedmem report train.trace
      writes train.html: one file, for any browser
  syncedmem report train.trace --text
      what syncedmem run prints, for the terminal
  syncedmem report train.trace.gz --text
      a trace that gzip has compressed
  syncedmem report train.trace --json -o train.json
      the same as JSON, for programs
  syncedmem report - < train.trace > train.html
      a trace from standard input")]
pub struct Options {
    /// A trace of `syncedmem run --trace` or SYNCEDMEM_TRACE, a folder of such files, or a trace that gzip has compressed; `-` is standard input.
    #[arg(value_hint = ValueHint::FilePath)]
    trace: PathBuf,
    /// The file to write; `-` is standard output [default: for HTML, beside the trace; else standard output].
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Write text for the terminal instead of HTML.
    #[arg(long)]
    text: bool,
    /// Write one JSON object, which docs/report.md describes.
    #[arg(long, conflicts_with = "text")]
    json: bool,
    #[command(flatten)]
    shown: Shown,
}

/// Options of the commands that print a report.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Shown {
    /// Show everything: the account, all work, all advice.
    #[arg(long)]
    pub details: bool,
    /// Say which batch fits in this much memory, such as 8G [default: the narrowest of the process's limits].
    #[arg(long, value_name = "BYTES", value_parser = fitting)]
    pub fit: Option<u64>,
}

fn fitting(text: &str) -> Result<u64, &'static str> {
    let bytes = syncedmem_core::settings::bytes(text.as_bytes()).filter(|&bytes| bytes > 0);
    bytes.ok_or("give digits, and K, M, G or T if you like: 8G")
}

pub fn run(options: &Options) -> ExitCode {
    let Options { trace, output, text, json, shown } = options;
    let read = match read::file(trace) {
        Ok(read) => read,
        Err(error) => return say::failed(format_args!("{}: {error}", input::name(trace))),
    };
    let (report, place) = match (text, json) {
        (true, _) => (text::of(&read, *shown), STANDARD.into()),
        (_, true) => (json_of(&read, shown.fit), STANDARD.into()),
        _ => (page::of(&read, *shown), page_beside(trace)),
    };
    write(&report, output.as_ref().unwrap_or(&place), trace)
}

fn json_of(trace: &Trace, fit: Option<u64>) -> String {
    // Texts, numbers and lists always become JSON.
    say::plain(serde_json::to_string_pretty(&document::of(trace, fit)).unwrap_or_default()) + "\n"
}

/// `train.html` for `train.trace` and for `train.trace.gz`.
fn page_beside(trace: &Path) -> PathBuf {
    if is_standard(trace) {
        return STANDARD.into();
    }
    let is_compressed = trace.extension().is_some_and(|extension| extension == "gz");
    let trace = if is_compressed { trace.with_extension("") } else { trace.to_path_buf() };
    trace.with_extension("html")
}

fn write(report: &str, output: &Path, trace: &Path) -> ExitCode {
    if is_same(output, trace) {
        return say::failed(format_args!("{} is the trace itself: name another file with --output", output.display()));
    }
    if let Err(error) = output::all(output, report.as_bytes()) {
        return say::not_written(output, &error);
    }
    if !output::is_standard_output(output) {
        say::line(output.display());
    }
    ExitCode::SUCCESS
}
