//! Differences as text.

use std::fmt;

use syncedmem_trace::text::{Duration, Size};

use super::compare::{Differences, Figure, Of, Pair, Section, Unit};

/// Figures of a section that are shown; the rest are counted.
const SHOWN: usize = 12;

pub struct DiffText<'a>(pub &'a Differences<'a>);

impl fmt::Display for DiffText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Differences { files, notes, only_in, processes } = self.0;
        notes.iter().try_for_each(|note| writeln!(f, "{note}"))?;
        for (file, programs) in files.iter().zip(only_in) {
            programs.iter().try_for_each(|program| writeln!(f, "{program}: only in {file}"))?;
        }
        for (number, pair) in processes.iter().enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            one(f, pair, files)?;
        }
        if processes.is_empty() {
            writeln!(f, "{} and {} have no process of the same program", files[0], files[1])?;
        }
        Ok(())
    }
}

fn one(f: &mut fmt::Formatter<'_>, Pair { processes, sections }: &Pair, files: &[&str; 2]) -> fmt::Result {
    for ((letter, file), process) in ['A', 'B'].into_iter().zip(files).zip(processes) {
        let program = if process.name.is_empty() { "an unnamed program" } else { &process.name };
        writeln!(f, "{letter}: {file}, memory of {program} (process {})", process.id)?;
    }
    sections.iter().try_for_each(|section| show(f, section))
}

fn show(f: &mut fmt::Formatter<'_>, section: &Section) -> fmt::Result {
    let Section { of, unit, figures } = section;
    let (changed, same): (Vec<_>, Vec<_>) = figures.iter().partition(|figure| figure.change() > 0);
    let title = match (of, unit) {
        (Of::Peak, _) => "memory at its peak",
        (Of::Role, _) => "by role, at the peak",
        (Of::Holder, _) => "holders, at the peak",
        (Of::Batch, Unit::Bytes) => "cost of the batch",
        (Of::Batch, _) => "batch",
        (Of::Objects, _) => "objects made",
        (Of::Work, Unit::Bytes) => "work, bytes",
        (Of::Work, Unit::Count) => "work, times",
        (Of::Work, Unit::Nanoseconds) => "work, time",
        (Of::System, Unit::Nanoseconds) => "the process, time",
        (Of::System, _) => "the process, memory",
    };
    if changed.is_empty() {
        return match same.len() {
            0 => Ok(()),
            _ => writeln!(f, "\n{title}: no change"),
        };
    }
    writeln!(f, "\n{title:<44}{:>12}{:>12}{:>13}", "in A", "in B", "change")?;
    // One kind alone needs no name.
    let has_kinds = figures.iter().any(|figure| figure.kind != figures[0].kind);
    for figure in changed.iter().take(SHOWN) {
        line(f, figure, *unit, has_kinds)?;
    }
    let more = changed.len().saturating_sub(SHOWN);
    match (more, same.len()) {
        (0, 0) => Ok(()),
        (0, same) => writeln!(f, "  {same} the same"),
        (more, 0) => writeln!(f, "  {more} more with smaller changes"),
        (more, same) => writeln!(f, "  {more} more with smaller changes, {same} the same"),
    }
}

fn line(f: &mut fmt::Formatter<'_>, figure: &Figure, unit: Unit, has_kinds: bool) -> fmt::Result {
    let Figure { name, kind, a, b } = figure;
    let name = match kind {
        Some(kind) if name == "peak" => (*kind).to_string(),
        Some(kind) if has_kinds => format!("{name}, {kind}"),
        _ => name.clone(),
    };
    let amount = |amount: u64| match unit {
        Unit::Bytes => Size(amount).to_string(),
        Unit::Count => amount.to_string(),
        Unit::Nanoseconds => Duration(amount).to_string(),
    };
    let sign = if b > a { '+' } else { '-' };
    let share = match (a, b) {
        (0, _) => "new".to_string(),
        (_, 0) => "gone".to_string(),
        (&a, &b) => format!("{:+.1} %", (b as f64 - a as f64) / a as f64 * 100.0),
    };
    let change = format!("{sign}{}", amount(figure.change()));
    // A longer name stands on a line of its own.
    if name.chars().count() > 41 {
        writeln!(f, "  {name}")?;
        write!(f, "{:<44}", "")?;
    } else {
        write!(f, "  {name:<42}")?;
    }
    writeln!(f, "{:>12}{:>12}{change:>13}{share:>11}", amount(*a), amount(*b))
}
