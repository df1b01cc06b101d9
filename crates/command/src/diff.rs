//! `syncedmem diff`: pairs the processes of two reports, and writes how their figures differ.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::fmt::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueHint};
use syncedmem_core::kind::Kind;
use syncedmem_core::text::{Duration, Size};
use syncedmem_trace::account::Sum;

use crate::output::is_standard;
use crate::pairs::{self, Pairs};
use crate::report::about::escaped;
use crate::report::batch::growth;
use crate::report::facts::{Process, Trace};
use crate::report::{input, read};
use crate::say;

/// Compare the memory of two runs.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  syncedmem diff batch8.trace batch16.trace
      two traces

Each list begins with the largest change. Processes are matched by their programs' names, in the order of their starts.

Exit status: 0 if only times and the figures of the system differ, 1 if something else does or a file cannot be read, 2 if the \
command line is wrong.")]
pub struct Options {
    /// The trace of the first run; `-` is standard input.
    #[arg(value_name = "A", value_hint = ValueHint::FilePath)]
    a: PathBuf,
    /// The trace of the second run.
    #[arg(value_name = "B", value_hint = ValueHint::FilePath)]
    b: PathBuf,
}

pub fn run(options: &Options) -> ExitCode {
    let Options { a, b } = options;
    if is_standard(a) && is_standard(b) {
        return say::failed("both runs cannot come from standard input; name a file for one of them");
    }
    let load = |path: &Path| read::file(path).map_err(|why| format!("{}: {why}", input::name(path)));
    let (of_a, of_b) = match load(a).and_then(|a| Ok((a, load(b)?))) {
        Ok(both) => both,
        Err(why) => return say::failed(why),
    };
    let mut text = String::new();
    let is_same = write(&mut text, &of_a, &of_b).unwrap_or(false);
    text.lines().for_each(say::line);
    say::status(is_same)
}

/// Number of figures of a section that are shown. The others are counted.
const SHOWN: usize = 12;

/// Returns whether nothing differs but times and the system's figures.
pub fn write(f: &mut String, a: &Trace, b: &Trace) -> Result<bool, fmt::Error> {
    for trace in [a, b] {
        let name = escaped(&trace.name);
        trace.notes.iter().try_for_each(|note| writeln!(f, "{name}: {}", escaped(note)))?;
    }
    let [names_a, names_b] = [a, b].map(|trace| trace.processes.iter().map(|process| process.name.as_str()));
    let Pairs { both, only_in } = match (&a.processes[..], &b.processes[..]) {
        // Two versions of a program may have different names.
        ([_], [_]) => Pairs { both: vec![(0, 0)], only_in: Default::default() },
        _ => pairs::by_name(names_a, names_b),
    };
    for (trace, programs) in [a, b].iter().zip(&only_in) {
        let name = escaped(&trace.name);
        programs.iter().try_for_each(|program| writeln!(f, "{}: only in {name}", escaped(program)))?;
    }
    let mut is_same = only_in.iter().all(Vec::is_empty);
    for (number, &(one, other)) in both.iter().enumerate() {
        if number > 0 {
            writeln!(f)?;
        }
        let processes = [&a.processes[one], &b.processes[other]];
        for ((letter, trace), process) in ['A', 'B'].into_iter().zip([a, b]).zip(processes) {
            let (name, program) = (escaped(&trace.name), escaped(process.program()));
            writeln!(f, "{letter}: {name}, memory of {program} (process {})", process.id)?;
        }
        let [of_a, of_b] = processes.map(sections);
        for (a, b) in of_a.into_iter().zip(of_b) {
            is_same &= section(f, a, b)?;
        }
    }
    if both.is_empty() {
        let [a, b] = [a, b].map(|trace| escaped(&trace.name));
        writeln!(f, "{a} and {b} have no process of the same program")?;
    }
    Ok(is_same)
}

/// A name, a kind and an amount.
type Figure = (String, Option<&'static str>, u64);

struct Section {
    title: &'static str,
    in_words: fn(u64) -> String,
    figures: Vec<Figure>,
}

fn sections(process: &Process) -> Vec<Section> {
    let by_kind =
        |name: &str, bytes: [u64; 3]| Kind::ALL.map(|kind| (name.to_owned(), Some(kind.name()), bytes[kind as usize]));
    let one = |name: &str, amount: u64| (name.to_owned(), None, amount);
    let work = |of: fn(Sum) -> u64| process.account.work().map(move |(work, sum)| one(&work.to_string(), of(sum)));
    let ending = &process.ending;
    // If there are several nets, the one that holds most.
    let growth = growth(process);
    let batch = growth.first();
    let span = one("from the first event to the last", process.timeline.span());
    let size = |bytes| Size(bytes).to_string();
    let count = |count: u64| count.to_string();
    let duration = |nanoseconds| Duration(nanoseconds).to_string();
    let section = |title, in_words, figures| Section { title, in_words, figures };
    vec![
        section(
            "memory at its peak",
            size,
            by_kind("peak", Kind::ALL.map(|kind| process.account.memory(kind).peak)).into(),
        ),
        section(
            "by role, at the peak",
            size,
            process.roles.iter().flat_map(|&(role, bytes)| by_kind(role, bytes)).collect(),
        ),
        section(
            "holders, at the peak",
            size,
            process.holders.iter().flat_map(|row| by_kind(&row.who, row.at_peak)).collect(),
        ),
        section(
            "cost of the batch",
            size,
            batch.map(|batch| one("one more item", batch.one_more)).into_iter().collect(),
        ),
        section("batch", count, batch.map(|batch| one("items of the batch", batch.items)).into_iter().collect()),
        section("objects made", count, vec![one("objects made", process.account.made())]),
        section("work, bytes", size, work(|sum| sum.bytes).collect()),
        section("work, times", count, work(|sum| sum.count).collect()),
        section("work, time", duration, work(|sum| sum.nanoseconds).chain([span]).collect()),
        section("the process, memory", size, vec![one("resident at its peak", ending.resident_peak.unwrap_or(0))]),
        section(
            "the process, time",
            duration,
            vec![
                one("from its start to its end", ending.elapsed.unwrap_or(0)),
                one("on a processor", ending.processor_time.unwrap_or(0)),
            ],
        ),
    ]
}

/// Writes the figures that differ, the largest change first. Returns whether nothing differs that is the same in two runs of one program.
fn section(f: &mut String, Section { title, in_words, figures }: Section, other: Section) -> Result<bool, fmt::Error> {
    let mut both: BTreeMap<(String, Option<&str>), [u64; 2]> = BTreeMap::new();
    for (side, figures) in [figures, other.figures].into_iter().enumerate() {
        figures.into_iter().for_each(|(name, kind, amount)| both.entry((name, kind)).or_default()[side] += amount);
    }
    // The figures of the system are shown only if both runs have them.
    let is_system = title.starts_with("the process");
    both.retain(|_, amounts| if is_system { !amounts.contains(&0) } else { *amounts != [0; 2] });
    // If there is one kind, it is not named.
    let kinds: HashSet<_> = both.keys().map(|(_, kind)| kind).collect();
    let has_kinds = kinds.len() > 1;
    let (mut changed, same): (Vec<_>, Vec<_>) = both.into_iter().partition(|(_, [a, b])| a != b);
    changed.sort_by_key(|(_, [a, b])| Reverse(a.abs_diff(*b)));
    if changed.is_empty() {
        if !same.is_empty() {
            writeln!(f, "\n{title}: no change")?;
        }
        return Ok(true);
    }
    writeln!(f, "\n{title:<44}{:>12}{:>12}{:>13}", "in A", "in B", "change")?;
    for ((name, kind), [a, b]) in changed.iter().take(SHOWN) {
        let name = &escaped(name);
        let name = match kind {
            Some(kind) if name == "peak" => (*kind).to_string(),
            Some(kind) if has_kinds => format!("{name}, {kind}"),
            _ => name.clone(),
        };
        let share = match (*a, *b) {
            (0, _) => "new".to_string(),
            (_, 0) => "gone".to_string(),
            (a, b) => format!("{:+.1} %", (b as f64 - a as f64) / a as f64 * 100.0),
        };
        let change = format!("{}{}", if b > a { '+' } else { '-' }, in_words(a.abs_diff(*b)));
        // A longer name has a separate line.
        let end = if name.chars().count() > 41 { format!("\n{:<44}", "") } else { String::new() };
        writeln!(f, "  {name:<42}{end}{:>12}{:>12}{change:>13}{share:>11}", in_words(*a), in_words(*b))?;
    }
    match (changed.len().saturating_sub(SHOWN), same.len()) {
        (0, 0) => {}
        (0, same) => writeln!(f, "  {same} the same")?,
        (more, 0) => writeln!(f, "  {more} more with smaller changes")?,
        (more, same) => writeln!(f, "  {more} more with smaller changes, {same} the same")?,
    }
    Ok(is_system || title == "work, time")
}
