//! `syncedmem report`: shows a trace as a page or as text.

mod amount;
mod batch;
mod details;
mod facts;
mod gather;
mod page;
mod read;
#[cfg(test)]
mod samples;
mod shown;
#[cfg(test)]
mod tests;
mod text;
mod timeline;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
pub use shown::Shown;
use text::Text;

use crate::say;

/// Show a trace as an HTML page or as text: account, advice and timeline.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  syncedmem report train.json                  writes train.html: one file, for any browser
  syncedmem report train.json --text           the account and the advice, for the terminal
  syncedmem report train.json -o - > page.html")]
pub struct Options {
    /// The file that `syncedmem run --trace` or SYNCEDMEM_TRACE wrote.
    trace: PathBuf,
    /// The file for the report; `-` is standard output. By default a page goes beside the trace, and text to standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Text for the terminal instead of a page.
    #[arg(long)]
    text: bool,
    #[command(flatten)]
    shown: Shown,
}

pub fn run(options: &Options) -> ExitCode {
    let Options { trace, output, text, shown } = options;
    let read = match read::file(trace) {
        Ok(read) => read,
        Err(error) => return say::failed(format_args!("{}: {error}", trace.display())),
    };
    if *text {
        return write(
            &Text { trace: &read, shown: *shown }.to_string(),
            output.as_deref().unwrap_or(Path::new(STANDARD_OUTPUT)),
            trace,
        );
    }
    write(&page::of(&read), &output.clone().unwrap_or_else(|| trace.with_extension("html")), trace)
}

/// A trace as text; the error says what is wrong with it.
pub fn text_of(trace: &Path, shown: Shown) -> Result<String, String> {
    read::file(trace).map(|read| Text { trace: &read, shown }.to_string()).map_err(|error| error.to_string())
}

/// Stands for standard output.
const STANDARD_OUTPUT: &str = "-";

/// Writes the report, and prints its path.
fn write(report: &str, output: &Path, trace: &Path) -> ExitCode {
    if output == Path::new(STANDARD_OUTPUT) {
        return match io::stdout().write_all(report.as_bytes()).and_then(|()| io::stdout().flush()) {
            // The reader has closed the pipe: it wants no more.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                say::failed(format_args!("the report could not be written to standard output: {error}"))
            }
            _ => ExitCode::SUCCESS,
        };
    }
    if is_same(output, trace) {
        return say::failed(format_args!("{} is the trace itself: name another file with --output", output.display()));
    }
    if let Err(error) = std::fs::write(output, report) {
        let output = output.display();
        return say::failed(format_args!("{output} cannot be written: {error}; name another file with --output"));
    }
    // A failure to print the path is ignored: the report is written.
    let _ = writeln!(io::stdout(), "{}", output.display());
    ExitCode::SUCCESS
}

fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}
