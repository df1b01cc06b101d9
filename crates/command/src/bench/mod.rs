//! `syncedmem bench`: the library's speed on this machine, beside that of Caffe's own code.

mod device;
mod host;
mod measure;
mod object;

use std::process::ExitCode;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use crate::say;
use measure::{Effort, Row};

/// Measure on this machine what the library does, beside what Caffe's own syncedmem.cpp does. Takes about ten seconds.
///
/// The original's side is calloc and free, which compilers make of its malloc and memset. Both sides are measured in turn, in
/// one process; each figure is the median of many runs. Where there is a GPU, copies are measured too.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  syncedmem bench
  SYNCEDMEM_HUGE_PAGES=never syncedmem bench    with a setting of the library's

How the library compares with other allocators and libraries is measured by scripts/bench, in the library's sources.")]
pub struct Options {
    /// A few runs only: to see that it works, not how fast.
    #[arg(long)]
    quick: bool,
}

/// Rows on one topic.
struct Section {
    title: &'static str,
    rows: Vec<Row>,
}

pub fn run(options: &Options) -> ExitCode {
    object::before_the_first_use();
    let effort = if options.quick { Effort::little() } else { Effort::usual() };
    let mut sections = vec![
        Section { title: "Fresh memory, written for the first time", rows: host::fresh() },
        Section { title: "Memory acquired, written and given back, again and again", rows: host::again() },
        Section { title: "The memory of AlexNet, made anew for each image", rows: host::network() },
    ];
    let copies = device::copies();
    let no_copies = copies.as_ref().err().cloned();
    sections.extend(copies.ok().map(|rows| Section { title: "Copies between host and device", rows }));

    let progress = ProgressBar::new(sections.iter().map(|section| section.rows.len() as u64).sum());
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}") {
        progress.set_style(style);
    }
    say::line(format_args!("{:<58}{:>12}{:>12}", "", "original", "library"));
    for section in sections {
        progress.suspend(|| say::line(format_args!("\n{}", section.title)));
        for row in section.rows {
            progress.set_message(row.name.clone());
            let line = row.measure(effort);
            progress.inc(1);
            progress.suspend(|| say::line(format_args!("  {line}")));
        }
    }
    progress.finish_and_clear();
    say::line("");
    if let Some(why) = no_copies {
        say::line(format_args!("Copies were not measured: {why}."));
    }
    say::line(
        "Original: calloc and free, as compilers make of Caffe's malloc and memset; one byte of each page is written.",
    );
    say::line(
        "Every figure is a median. A process of your own may differ: syncedmem run -- PROGRAM shows what it does.",
    );
    ExitCode::SUCCESS
}
