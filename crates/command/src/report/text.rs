//! A trace as text for terminals: a screen about each process and, with `--details`, everything else.

use std::fmt::{self, Write};

use syncedmem_core::kind::Kind;
use syncedmem_core::text::Size;

use super::Shown;
use super::about::{escaped, taken_over};
use super::facts::{Process, Trace};
use super::rows::{CERTAINTY, HolderRow, IN_PLACE, SHARE};
use super::sentences::{Held, List, ROWS, Share, at_peak, holders, share};
use super::sentences::{
    batch_lines, kinds, made_unseen_line, peak_line, percent, saving_line, sharing_lines, spent_line,
};

/// Names may be longer.
const COLUMNS: usize = 110;
/// Places that advice lists without `--details`.
const PLACES: usize = 3;

pub fn of(trace: &Trace, shown: Shown) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut text, trace, shown);
    text
}

fn write(f: &mut String, trace: &Trace, shown: Shown) -> fmt::Result {
    let Trace { name, processes, notes } = trace;
    let name = escaped(name);
    if processes.is_empty() {
        writeln!(f, "{name}: the trace holds no events of libsyncedmem.")?;
    }
    for (number, process) in processes.iter().enumerate() {
        if number > 0 {
            writeln!(f)?;
        }
        screen(f, process, shown)?;
        if shown.details {
            details(f, process)?;
        }
    }
    notes.iter().try_for_each(|note| writeln!(f, "\n{name}: {}", escaped(note)))
}

fn screen(f: &mut String, process: &Process, shown: Shown) -> fmt::Result {
    let first = process.first_lines();
    first.iter().try_for_each(|line| wrapped(f, "", &escaped(line)))?;
    if process.is_unseen() {
        return Ok(());
    }
    if !first.is_empty() {
        writeln!(f)?;
    }
    writeln!(f, "libsyncedmem: memory of {} (process {})", escaped(process.program()), process.id)?;
    for caffe in process.about.caffes.iter().filter(|caffe| caffe.taken_over > 0) {
        writeln!(f, "{} was {}", escaped(&caffe.file), taken_over(caffe))?;
    }
    writeln!(f, "{}", peak_line(process))?;
    sharing_lines(process, shown).iter().try_for_each(|line| wrapped(f, "", line))?;
    let has_one_kind = kinds(process).count() == 1;
    for kind in kinds(process) {
        let what = if has_one_kind { "memory".to_string() } else { format!("{} memory", kind.name()) };
        let most = if shown.details { usize::MAX } else { ROWS };
        let peak = process.account.memory(kind).peak;
        at_peak(process, kind, most)
            .iter()
            .try_for_each(|list| write_list(f, &format!("{what} at the peak"), list, peak))?;
    }
    let batches = batch_lines(process, shown);
    if !batches.is_empty() {
        writeln!(f)?;
    }
    batches.iter().try_for_each(|line| wrapped(f, "", line))?;
    writeln!(f)?;
    wrapped(f, "", &spent_line(process))?;
    advice(f, process, shown.details)
}

fn advice(f: &mut String, process: &Process, details: bool) -> fmt::Result {
    let (share, is_there) = (share(process), !process.in_place.is_empty());
    let in_place = is_there && (details || process.is_worth_doing());
    if share.is_none() && !in_place {
        let smaller = match (process.bound_that_ended(), is_there) {
            (Some(_), _) => return Ok(()),
            (None, true) => ": no advice saves a thousandth of the peak (1 smaller: --details)",
            (None, false) => "",
        };
        return writeln!(f, "\nnothing worth doing{smaller}");
    }
    let (what, most) = if details { ("all advice", usize::MAX) } else { ("worth doing", PLACES) };
    let overlap = if share.is_some() && in_place { "; the first makes the second save less" } else { "" };
    writeln!(f, "\n{what}{overlap}\n")?;
    let number = if share.is_some() { 2 } else { 1 };
    if let Some(Share { option, line, .. }) = share {
        writeln!(f, "  1. {}: {option}, {CERTAINTY}", SHARE.change)?;
        wrapped(f, "     ", &line)?;
        wrapped(f, "     ", SHARE.to_do)?;
        wrapped(f, "     ", SHARE.not_known)?;
    }
    if !in_place {
        return Ok(());
    }
    writeln!(f, "  {number}. {}: {}, {CERTAINTY}, {}", IN_PLACE.change, IN_PLACE.name, saving_line(process))?;
    wrapped(f, "     ", IN_PLACE.to_do)?;
    wrapped(f, "     ", IN_PLACE.not_known)?;
    for place in process.in_place.iter().take(most) {
        let (layers, change) = (escaped(&place.layers), escaped(&place.change));
        wrapped(f, "       ", &format!("- {}: {layers}: {change}", Size(place.bytes)))?;
    }
    match process.in_place.len().saturating_sub(most) {
        0 => Ok(()),
        more => writeln!(f, "       and {more} more places"),
    }
}

/// What is not on the screen: the process, the account, and the memory at the end.
fn details(f: &mut String, process: &Process) -> fmt::Result {
    let lines = process.about.lines();
    if !lines.is_empty() {
        writeln!(f, "\nthe process")?;
    }
    lines.iter().try_for_each(|(name, value)| writeln!(f, "  {name:<10}{}", escaped(value)))?;
    writeln!(f)?;
    process.account.write_memory(f)?;
    made_unseen_line(process).map_or(Ok(()), |line| wrapped(f, "", &line))?;
    for kind in Kind::ALL {
        let held = |row: &HolderRow| Held { bytes: row.live[kind as usize], blocks: row.blocks[kind as usize] };
        let now = holders(process, held, usize::MAX);
        if !now.rows.is_empty() {
            write_list(f, &format!("{} memory now", kind.name()), &now, process.account.memory(kind).live)?;
        }
    }
    writeln!(f)?;
    process.account.write_work(f)
}

/// Writes the rows with their shares of `whole` bytes.
fn write_list(f: &mut String, what: &str, List { by, rows }: &List, whole: u64) -> fmt::Result {
    writeln!(f, "\n{what}, by {by}")?;
    rows.iter().try_for_each(|(who, bytes)| {
        writeln!(f, "  {:>10} {:>5.1} %  {}", Size(*bytes).to_string(), percent(*bytes, whole), escaped(who))
    })
}

/// Writes a sentence in lines of at most [`COLUMNS`].
fn wrapped(f: &mut String, indentation: &str, sentence: &str) -> fmt::Result {
    let mut column = 0;
    for word in sentence.split(' ') {
        let letters = word.chars().count();
        if column > 0 && column + 1 + letters <= COLUMNS {
            write!(f, " {word}")?;
            column += 1 + letters;
        } else {
            write!(f, "{}{indentation}{word}", if column > 0 { "\n" } else { "" })?;
            column = indentation.len() + letters;
        }
    }
    writeln!(f)
}
