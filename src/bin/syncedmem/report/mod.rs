//! `syncedmem report`: a trace, as a page or as text.

mod amount;
mod facts;
mod gather;
mod page;
mod read;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
mod timeline;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use crate::say;

/// Show what a trace tells: account, advice and timeline, as an HTML page or as text.
#[derive(Debug, Args)]
pub struct Options {
    /// What `syncedmem run --trace` or SYNCEDMEM_TRACE wrote.
    trace: PathBuf,
    /// Where the page goes; `-` is standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Text for the terminal instead of a page.
    #[arg(long)]
    text: bool,
}

pub fn run(options: &Options) -> ExitCode {
    let Options { trace, output, text } = options;
    let read = match read::file(trace) {
        Ok(read) => read,
        Err(trouble) => return say::failed(format_args!("{}: {trouble}", trace.display())),
    };
    if *text {
        return say::failed("not there yet");
    }
    write(&page::of(&read), &output.clone().unwrap_or_else(|| trace.with_extension("html")), trace)
}

/// Writes the page, and says where to.
fn write(page: &str, output: &Path, trace: &Path) -> ExitCode {
    if output == Path::new("-") {
        return match io::stdout().write_all(page.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => say::failed(format_args!("the page could not be written to standard output: {error}")),
        };
    }
    if is_same(output, trace) {
        return say::failed(format_args!("{} is the trace itself: name another file with --output", output.display()));
    }
    match std::fs::write(output, page) {
        Ok(()) => {
            println!("{}", output.display());
            ExitCode::SUCCESS
        }
        Err(error) => say::failed(format_args!(
            "the page could not be written to {}: {error}; name a file that you may write with --output",
            output.display()
        )),
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}
