//! A process on a screen of a terminal.

use std::fmt;

use syncedmem_core::kind::Kind;
use syncedmem_core::text::{Escaped, Size, Text as Buffer};

use super::about::{escaped, taken_over};
use super::facts::{Piece, Process};
use super::lists::{List, ROWS, at_peak};
use super::rows::Finding;
use super::sentences::{batch_lines, kinds, peak_line, percent, saving_line, sharing_lines, spent_line};
use super::shown::Shown;

/// Of a piece of advice.
const PLACES: usize = 3;
/// Names may be longer.
const COLUMNS: usize = 110;

pub struct Screen<'a> {
    pub process: &'a Process,
    pub shown: Shown,
}

impl Screen<'_> {
    pub fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.process.name;
        let program = if name.is_empty() { "an unnamed program".into() } else { Escaped(name.as_bytes()).to_string() };
        let first = self.process.first_lines();
        first.iter().try_for_each(|line| wrapped(f, "", &escaped(line)))?;
        if self.process.is_unseen() {
            return Ok(());
        }
        if !first.is_empty() {
            writeln!(f)?;
        }
        writeln!(f, "libsyncedmem: memory of {program} (process {})", self.process.id)?;
        for caffe in self.process.about.caffes.iter().filter(|caffe| caffe.taken_over > 0) {
            writeln!(f, "{} was {}", escaped(&caffe.file), taken_over(caffe))?;
        }
        writeln!(f, "{}", peak_line(self.process))?;
        let sharing = sharing_lines(self.process, self.shown);
        sharing.iter().try_for_each(|line| wrapped(f, "", line))?;
        for kind in kinds(self.process) {
            let (what, peak) = (format!("{} at the peak", self.words(kind)), self.process.account.memory(kind).peak);
            let most = if self.shown.details { usize::MAX } else { ROWS };
            at_peak(self.process, kind, most).iter().try_for_each(|list| write_list(f, &what, list, peak))?;
        }
        let batches = batch_lines(self.process, self.shown);
        if !batches.is_empty() {
            writeln!(f)?;
        }
        batches.iter().try_for_each(|line| wrapped(f, "", line))?;
        writeln!(f)?;
        wrapped(f, "", &spent_line(self.process))?;
        self.advice(f)
    }

    /// `memory` if there is one kind, else `device memory`.
    fn words(&self, kind: Kind) -> String {
        if kinds(self.process).count() == 1 { "memory".to_string() } else { format!("{} memory", kind.name()) }
    }

    fn advice(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (pieces, details) = (self.process.pieces(), self.shown.details);
        let is_shown = |piece: &&Piece<'_>| details || self.process.is_worth_doing(&piece.sum);
        let shown: Vec<&Piece<'_>> = pieces.iter().filter(is_shown).collect();
        let others = pieces.len() - shown.len();
        match (shown.len(), others) {
            (0, _) if self.process.bound_that_ended().is_some() => return Ok(()),
            (0, 0) => return writeln!(f, "\nnothing worth doing"),
            (0, _) => {
                let why = "nothing worth doing: no advice saves a thousandth of the peak";
                return writeln!(f, "\n{why} ({others} smaller: --details)");
            }
            _ => {}
        }
        let (what, places) = if details { ("all advice", usize::MAX) } else { ("worth doing", PLACES) };
        writeln!(f, "\n{what}, the largest saving first")?;
        for (number, piece) in shown.iter().enumerate() {
            write_piece(f, self.process, number + 1, piece, places)?;
        }
        match others {
            0 => Ok(()),
            count => writeln!(f, "  {count} more would save less than a thousandth of the peak: --details"),
        }
    }
}

/// With their shares of `whole` bytes.
pub fn write_list(f: &mut fmt::Formatter<'_>, what: &str, List { by, rows }: &List, whole: u64) -> fmt::Result {
    writeln!(f, "\n{what}, by {by}")?;
    rows.iter().try_for_each(|(who, bytes)| {
        let size = Buffer::<24>::of(format_args!("{}", Size(*bytes)));
        writeln!(f, "  {size:>10} {:>5.1} %  {}", percent(*bytes, whole), escaped(who))
    })
}

fn write_piece(
    f: &mut fmt::Formatter<'_>,
    process: &Process,
    number: usize,
    piece: &Piece<'_>,
    places: usize,
) -> fmt::Result {
    let Finding { rule, certainty, change, .. } = piece.sum;
    writeln!(f, "\n{number:>3}. {change}: {rule}, {certainty}, {}", saving_line(process, &piece.sum))?;
    wrapped(f, "     ", piece.sum.to_do)?;
    wrapped(f, "     ", piece.sum.not_known)?;
    for place in piece.places.iter().take(places) {
        let (made, at) = (Escaped(place.made.as_bytes()), Escaped(place.at.as_bytes()));
        wrapped(f, "       ", &format!("- {}: {made}: {at}", Size(place.bytes)))?;
    }
    match piece.places.len().saturating_sub(places) {
        0 => Ok(()),
        more => writeln!(f, "       and {more} more places"),
    }
}

/// A sentence in lines of at most [`COLUMNS`].
pub fn wrapped(f: &mut fmt::Formatter<'_>, indentation: &str, sentence: &str) -> fmt::Result {
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
