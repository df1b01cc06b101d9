//! A process on a screen of a terminal.

use std::cmp::Reverse;
use std::fmt;

use syncedmem_trace::kind::Kind;
use syncedmem_trace::text::{Duration, Escaped, Size, Text as Buffer};

use super::about::{escaped, taken_over};
use super::facts::{Piece, Process};
use super::layers::Group;
use super::rows::{Finding, IN_PLACE};
use super::sentences::{batch_lines, kinds, peak_line, percent, sharing_lines, spent_line};
use super::shown::Shown;

const HOLDERS: usize = 10;
const TYPES: usize = 6;
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
            self.roles(f, kind)?;
            self.groups(f, kind, "type of layer", &self.process.by_type, TYPES)?;
            if self.process.has_many_holders(kind, HOLDERS) {
                self.groups(f, kind, "the beginning of the layers' names", &self.process.by_name, HOLDERS)?;
            }
            self.holders(f, kind)?;
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

    fn peak_of(&self, kind: Kind) -> u64 {
        self.process.account.memory(kind).peak
    }

    /// `memory` if there is one kind, else `device memory`.
    fn words(&self, kind: Kind) -> String {
        if kinds(self.process).count() == 1 { "memory".to_string() } else { format!("{} memory", kind.name()) }
    }

    fn roles(&self, f: &mut fmt::Formatter<'_>, kind: Kind) -> fmt::Result {
        let mut roles: Vec<_> = self.process.roles.iter().filter(|role| role.at_peak[kind as usize] > 0).collect();
        if roles.is_empty() {
            return Ok(());
        }
        roles.sort_by_key(|role| Reverse(role.at_peak[kind as usize]));
        writeln!(f, "\n{} at the peak, by role", self.words(kind))?;
        roles.iter().try_for_each(|role| self.line(f, kind, role.at_peak[kind as usize], role.role))
    }

    fn groups(&self, f: &mut fmt::Formatter<'_>, kind: Kind, by: &str, groups: &[Group], most: usize) -> fmt::Result {
        let mut groups: Vec<_> = groups.iter().filter(|group| group.at_peak[kind as usize] > 0).collect();
        if groups.is_empty() {
            return Ok(());
        }
        groups.sort_by_key(|group| Reverse(group.at_peak[kind as usize]));
        writeln!(f, "\n{} at the peak, by {by}", self.words(kind))?;
        for group in groups.iter().take(most) {
            self.line(f, kind, group.at_peak[kind as usize], &Escaped(group.words().as_bytes()).to_string())?;
        }
        self.others(f, kind, groups.iter().skip(most).map(|group| group.at_peak))
    }

    /// A line for the rest of a list.
    fn others(
        &self,
        f: &mut fmt::Formatter<'_>,
        kind: Kind,
        rest: impl ExactSizeIterator<Item = [u64; 3]>,
    ) -> fmt::Result {
        match rest.len() {
            0 => Ok(()),
            count => self.line(f, kind, rest.map(|bytes| bytes[kind as usize]).sum(), &format!("{count} others")),
        }
    }

    fn holders(&self, f: &mut fmt::Formatter<'_>, kind: Kind) -> fmt::Result {
        let holders = self.process.holders_by(|holder| holder.at_peak[kind as usize]);
        writeln!(f, "\n{} at the peak, by holder", self.words(kind))?;
        for holder in holders.iter().take(HOLDERS) {
            self.line(f, kind, holder.at_peak[kind as usize], &Escaped(holder.who.as_bytes()).to_string())?;
        }
        self.others(f, kind, holders.iter().skip(HOLDERS).map(|holder| holder.at_peak))
    }

    fn line(&self, f: &mut fmt::Formatter<'_>, kind: Kind, bytes: u64, what: &str) -> fmt::Result {
        writeln!(f, "  {:>10} {:>5.1} %  {what}", size(bytes), percent(bytes, self.peak_of(kind)))
    }

    fn advice(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pieces = self.process.pieces();
        let worth: Vec<&Piece<'_>> = pieces.iter().filter(|piece| self.process.is_worth_doing(&piece.sum)).collect();
        if worth.is_empty() && self.process.bound_that_ended().is_some() {
            return Ok(());
        }
        if worth.is_empty() {
            return match pieces.len() {
                0 => writeln!(f, "\nnothing worth doing"),
                count => writeln!(
                    f,
                    "\nnothing worth doing: no advice saves a thousandth of the run ({count} smaller: --details)"
                ),
            };
        }
        writeln!(f, "\nworth doing, the largest saving first (one copy may be in several)")?;
        for (number, piece) in worth.iter().enumerate() {
            write_piece(f, self.process, number + 1, piece, PLACES)?;
        }
        match pieces.len() - worth.len() {
            0 => Ok(()),
            count => writeln!(f, "  {count} more would save less than a thousandth of the run: --details"),
        }
    }
}

pub fn write_piece(
    f: &mut fmt::Formatter<'_>,
    process: &Process,
    number: usize,
    piece: &Piece<'_>,
    places: usize,
) -> fmt::Result {
    let Finding { rule, certainty, change, count, bytes, saved, .. } = piece.sum;
    let part = process.saving(&piece.sum).unwrap_or(0.0) * 100.0;
    let is_in_place = rule == IN_PLACE;
    let (one, many) = if is_in_place { ("layer", "layers") } else { ("time", "times") };
    let times = if count == 1 { one } else { many };
    write!(f, "\n{number:>3}. {change}: {rule}, {certainty}, {count} {times}, {}", Size(bytes))?;
    match saved {
        None if piece.sum.saves_memory() => writeln!(f, " to save ({part:.1} %)")?,
        Some(saved) => writeln!(f, ", about {} to save ({part:.1} %)", Duration(saved))?,
        None => writeln!(f, "; the time is not measured")?,
    }
    wrapped(f, "     ", piece.sum.to_do)?;
    wrapped(f, "     ", piece.sum.not_known)?;
    for place in piece.places.iter().take(places) {
        let objects = if place.objects == 1 { "object" } else { "objects" };
        let (made, at) = (Escaped(place.made.as_bytes()), Escaped(place.at.as_bytes()));
        if is_in_place {
            wrapped(f, "       ", &format!("- {}: {made}: {at}", Size(place.bytes)))?;
            continue;
        }
        writeln!(f, "     - {} x, {}: {} {objects} made by {made}", place.count, Size(place.bytes), place.objects)?;
        if !place.at.is_empty() && place.at != place.made {
            writeln!(f, "       at {at}")?;
        }
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

/// Can be aligned.
pub fn size(bytes: u64) -> Buffer<24> {
    Buffer::of(format_args!("{}", Size(bytes)))
}
